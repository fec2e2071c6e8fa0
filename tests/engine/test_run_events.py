"""What a run tells its listeners."""

import json

import pytest

from tests.engine.run_support import Project, Seen
from tuvl.events.serialize import to_wire

TWO = """
- { id: a, kind: Functional, runner: set, values: { private_note: "s3cret-context-value" } }
- { id: b, kind: Functional, runner: fail, message: no, routes: { error: END } }
"""


async def test_events_come_in_order_each_numbered_and_one_is_terminal(tmp_path):
    seen = Seen()
    result = await Project(tmp_path, TWO).run(sinks=[seen])
    assert seen.types == [
        "run_started",
        "step_started",
        "step_finished",
        "step_started",
        "step_finished",
        "run_finished",
    ]
    assert [event.seq for event in seen.events] == [1, 2, 3, 4, 5, 6]
    assert [event.step_id for event in seen.events] == [None, "a", "a", "b", "b", None]
    assert {event.run_id for event in seen.events} == {result.run_id}


ENDS = {
    "completed": ("- { id: a, kind: Functional, runner: set, values: { x: 1 } }", "completed"),
    "failed": ("- { id: a, kind: Functional, runner: fail, message: no }", "failed"),
    "timeout": ("- { id: a, kind: Functional, runner: wait, seconds: 9, timeout_s: 0.01 }", "failed"),
    "unmapped": ("- { id: a, kind: Router, match: { field: go }, routes: { left: END, default: END } }", "failed"),
    "max_steps": (
        "- { id: a, kind: Functional, runner: log, message: hi, routes: { error: END } }\n"
        "- { id: b, kind: Functional, runner: log, message: hi, routes: { default: a, error: END } }",
        "failed",
    ),
}


@pytest.mark.parametrize("end", ENDS)
async def test_every_end_has_exactly_one_terminal_event(tmp_path, end):
    steps, status = ENDS[end]
    seen = Seen()
    result = await Project(tmp_path, steps, limits={"max_steps": 3}).run(sinks=[seen])
    assert result.status == status
    assert seen.types.count("run_finished") == 1
    assert seen.events[-1].body.status == status


async def test_events_hold_no_context_value(tmp_path):
    seen = Seen()
    await Project(tmp_path, TWO).run({"token": "s3cret-input-value"}, sinks=[seen])
    text = json.dumps([to_wire(event) for event in seen.events])
    assert "s3cret" not in text


async def test_wire_form_has_the_common_fields_first_and_the_bodys_own_after(tmp_path):
    seen = Seen()
    await Project(tmp_path, TWO).run(sinks=[seen])
    wire = to_wire(seen.events[2])
    assert list(wire) == ["type", "run_id", "seq", "at", "step_id", "kind", "signal", "duration_ms"]
    assert (wire["type"], wire["kind"], wire["signal"]) == ("step_finished", "Functional", "default")
    assert wire["at"].endswith("+00:00")


async def test_a_sink_that_raises_changes_nothing_for_the_run_or_for_others(tmp_path, caplog):
    class Broken:
        def accept(self, event):
            raise OSError("disk full")

    seen = Seen()
    result = await Project(tmp_path, TWO).run(sinks=[Broken(), seen])
    assert result.status == "completed"
    assert len(seen.events) == 6
    (told,) = caplog.records
    assert told.message == "event sink 'Broken' failed and gets no more events: OSError"


async def test_without_a_listener_no_event_is_made(tmp_path, monkeypatch):
    def made(*_args, **_kwargs):
        raise AssertionError("an event was made")

    for name in ("Event", "RunStarted", "StepStarted", "StepFinished", "RunFinished"):
        monkeypatch.setattr(f"tuvl.engine.run.{name}", made)
    assert (await Project(tmp_path, TWO).run()).status == "completed"
