"""What a durable run is told: on record before it acts, obeyed once, and read at the same places later."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.agent.loop_support import say
from tests.durable.test_record import Rows, value
from tests.engine.agent_support import NODES
from tests.engine.run_support import Project
from tests.guardrails.guard_support import Until
from tests.supervision.supervised import look, supervised
from tuvl.control import Intervention, RunControl
from tuvl.durable.inherited import inherited
from tuvl.durable.record import DurableJournal
from tuvl.durable.told import pending
from tuvl.engine.result import RunResult
from tuvl.llm.messages import ModelReply, ModelRequest


class Killed(BaseException):
    """The process is gone: nothing that would come after it happens."""


class Dying(Rows):
    """Rows of a process that dies when one of a name is to be written, or has been."""

    def __init__(self, kept: dict[str, Any], point: str = "") -> None:
        super().__init__()
        self.kept = kept
        self.point = point

    async def put(self, name: str, row: Any) -> None:
        if self.point == f"before {name}":
            raise Killed
        await super().put(name, row)
        if self.point == f"after {name}":
            raise Killed


def kept(*told: tuple[str, str], **rows: Any) -> dict[str, Any]:
    found = {
        f"told.{number}": {"t": float(number), "value": {"kind": kind, "by": "ann", "words": words}}
        for number, (kind, words) in enumerate(told)
    }
    return found | {name: {"t": 0.0, "value": value} for name, value in rows.items()}


def words(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(str(said["kind"]), str(said["words"])) for said in pending(found)]


def test_what_was_not_obeyed_is_told_again_in_order_and_an_abort_outweighs_it():
    steers = [("steer", "a"), ("steer", "b"), ("steer", "a")]
    assert words(kept(*steers)) == steers
    read = {"agent#1/steers#1": ["a"], "agent#1/steered#4": ["b"]}
    assert words(kept(("steer", "a"), ("steer", "b"), ("steer", "a"), **read)) == [("steer", "a")]
    assert words(kept(("pause", ""), ("resume", ""))) == []
    assert words(kept(("pause", ""), ("resume", ""), ("pause", ""))) == [("pause", "")]
    assert words(kept(("steer", "a"), ("abort", "enough"), ("abort", "again"))) == [("abort", "enough")]


def test_a_fork_of_a_run_that_was_aborted_is_not_aborted_by_that():
    rows = kept(("steer", "a"), ("abort", "enough"), **{"one#1/end": None}) | kept(**{"two#1/end": None})
    given = inherited({}, rows, "two")
    assert given is not None
    found = given["rows"]
    assert isinstance(found, dict)
    assert list(found) == ["one#1/end"]


async def test_what_a_run_is_told_is_recorded_once_and_from_any_context():
    rows = Rows()
    journal = DurableJournal(rows, {})
    said = {"kind": "steer", "by": "ann", "words": "hurry"}
    assert await journal.tell("d1", said)
    assert not await journal.tell("d1", said)
    again = DurableJournal(rows, dict(rows.kept))
    assert not await again.tell("d1", said)
    assert again.untold() == (said,)


async def test_where_the_record_ends_is_the_first_entry_that_is_new_and_not_a_whole_whose_parts_are_known():
    rows = Rows()
    before = DurableJournal(rows, {}).within("a#1")
    await before.record("turn.m#1", lambda: value(1))
    called: list[str] = []
    journal = DurableJournal(rows, dict(rows.kept))

    async def end() -> None:
        called.append(place[0])

    async def hold() -> bool:
        return False

    journal.at_end(end, hold)
    place = ["whole"]

    async def whole() -> Any:
        part = journal.within("a#1")
        place[0] = "known"
        await part.record("turn.m#1", lambda: value(1))
        place[0] = "new"
        return await part.record("turn.m#2", lambda: value(2))

    await journal.record("a#1/end", whole)
    await journal.record("b#1/end", lambda: value(3))
    assert called == ["new"]


class Listening:
    """Calls `look` once and is done; somebody speaks while its first call is in flight."""

    name = "test/listening"
    price = None

    def __init__(self, control: RunControl, steer: str | None = None) -> None:
        self._control = control
        self._steer = steer
        self.requests: list[list[str | None]] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append([message.content for message in request.messages])
        steer, self._steer = self._steer, None
        if steer is not None:
            asyncio.get_running_loop().call_soon(self._control.steer, steer)
            await asyncio.Event().wait()
        return say("done") if any(message.role == "tool" for message in request.messages) else look("a")

    async def aclose(self) -> None:
        return None


async def performed(project: Project, rows: Rows, control: RunControl, *, begun: bool = True) -> RunResult:
    """Run on a record, as one process of several; a task that a dying process leaves is none of ours."""
    engine = project.engine()
    try:
        journal = DurableJournal(rows, dict(rows.kept), again=begun)
        return await engine.run(project.plan(), {}, control=control, journal=journal, run_id="r1", trace=True)
    finally:
        await engine.aclose()


def listening(root: Path, model: Listening, **more: Any) -> Project:
    project = supervised(root, steer_mode="interrupt", **more)
    project.chat_models["default"] = model  # type: ignore[assignment]
    return project


POINTS = (
    "after agent#1/steered#1",
    "before agent#1/turn.default~1#1",
    "after agent#1/turn.default~1#1",
    "after agent#1/tool.look.c1#1/end",
    "before agent#1/turn.default~1#2",
    "before agent#1/end",
)


@pytest.mark.parametrize("point", POINTS)
async def test_a_steer_that_interrupted_a_call_interrupts_it_again_when_the_process_dies_in_that_turn(point, tmp_path):
    control, rows = RunControl(), Dying({}, point)
    model = Listening(control, "hurry")
    with pytest.raises(Killed):
        await performed(listening(tmp_path, model), rows, control, begun=False)
    rows.point = ""
    again = Listening(RunControl())
    result = await performed(listening(tmp_path, again), rows, RunControl())
    assert result.status == "completed"
    # A call that was interrupted is not made again, and none that is on record is.
    on_record = sum(name.startswith("agent#1/turn.default") for name in rows.kept)
    assert on_record == 2
    assert len(model.requests) + len(again.requests) == 3 + (point.startswith("before agent#1/turn"))
    steers = [[text for text in request if text and "hurry" in text] for request in model.requests + again.requests]
    assert [len(each) for each in steers] == [0, *[1] * (len(steers) - 1)]
    assert (result.usage.llm_calls, result.usage.tool_calls) == (3, 1), "that which was interrupted is counted"


async def test_a_steer_that_came_with_the_kill_is_read_at_the_next_turn_and_once(tmp_path):
    control, rows = RunControl(), Dying({}, "after told.d1")
    journal = DurableJournal(rows, {})
    with pytest.raises(Killed):
        await journal.tell("d1", {"kind": "steer", "by": "ann", "words": "hurry"})
    rows.point = "before agent#1/turn.default#2"
    model = Listening(control)
    with pytest.raises(Killed):
        await performed(listening(tmp_path, model), rows, control)
    rows.point = ""
    again = Listening(RunControl())
    result = await performed(listening(tmp_path, again), rows, RunControl())
    assert result.status == "completed"
    told = [sum("hurry" in (text or "") for text in request) for request in model.requests + again.requests]
    assert told == [1, 1, 1], "before its first call there is still time"


@pytest.mark.parametrize(
    "point", ["before agent#1/turn.default#1", "before agent#1/tool.look.c1#1/end", "after agent#1/turn.default#2"]
)
async def test_an_abort_that_came_just_before_the_kill_holds(point, tmp_path):
    control, rows = RunControl(), Dying({}, point)
    model = Listening(control)
    with pytest.raises(Killed):
        await performed(listening(tmp_path, model), rows, control, begun=False)
    calls = sum(name.startswith("agent#1/turn.default") for name in rows.kept)
    rows.point = ""
    await DurableJournal(rows, dict(rows.kept)).tell("d1", {"kind": "abort", "by": "ann", "words": "aborted by ann"})
    again = Listening(RunControl())
    result = await performed(listening(tmp_path, again), rows, RunControl())
    if point == "after agent#1/turn.default#2":
        # Nothing of the agent is missing but its end, which is then as it was.
        assert result.status in ("completed", "aborted")
    else:
        assert (result.status, result.error and result.error.message) == ("aborted", "aborted by ann")
    assert again.requests == []
    assert result.usage.llm_calls == calls, "what was paid for is counted"


async def test_what_cleans_up_after_an_abort_goes_on_as_such(tmp_path):
    steps = """\
- { id: work, kind: Functional, runner: work, routes: { aborted: clean, default: END } }
- { id: clean, kind: Functional, runner: clean, routes: { default: last } }
- { id: last, kind: Functional, runner: set, values: { last: true } }
"""
    nodes = """\
import asyncio
from tuvl import node


@node("work")
async def work(ctx):
    await asyncio.Event().wait()


@node("clean")
def clean(ctx):
    return {"cleaned": True}
"""
    project = Project(tmp_path, steps).node(nodes)
    control, rows = RunControl(), Dying({}, "after clean#1/end!1")
    seen = Until("step_started")
    engine = project.engine()

    async def run(rows: Rows, control: RunControl, *, begun: bool, sinks: tuple[object, ...] = ()) -> RunResult:
        journal = DurableJournal(rows, dict(rows.kept), again=begun)
        return await engine.run(project.plan(), {}, control=control, journal=journal, run_id="r1", sinks=sinks)

    try:
        first = asyncio.ensure_future(run(rows, control, begun=False, sinks=(seen,)))
        await seen.come.wait()
        assert control.keep is not None
        await control.keep("d1", Intervention(action="abort", source="operator", by="ann"), "aborted by ann")
        control.abort("aborted by ann")
        with pytest.raises(Killed):
            await first
        rows.point = ""
        del rows.kept["clean#1/end!1"]
        result = await run(rows, RunControl(), begun=True)
    finally:
        await engine.aclose()
    assert (result.status, result.error and result.error.message) == ("aborted", "aborted by ann")
    assert [step.id for step in result.steps] == ["work", "clean", "last"]
    assert result.context == {"cleaned": True, "last": True}


TWO = """\
- id: first
  kind: Agent
  mode: autonomous
  agent: { model: default, steering: Go., tools: [{ ref: look, description: Looks. }] }
  routes: { default: second, max_iterations: END, error: END, aborted: END }
- id: second
  kind: Agent
  mode: autonomous
  agent: { model: default, steering: Go., tools: [{ ref: look, description: Looks. }] }
  routes: { max_iterations: END, error: END, aborted: END }
- { id: look, kind: Functional, runner: look }
"""


@pytest.mark.parametrize("point", ["before first#1/end", "after first#1/end", "before second#1/turn.default#2"])
async def test_a_rule_that_has_spoken_about_one_agent_is_silent_about_the_next_when_the_run_goes_on(point, tmp_path):
    rule = {"when": "iteration_reached", "gte": 1, "then": "steer"}
    supervisor = {"watches": ["first", "second"], "rules": [rule], "steer_message": "Finish."}

    def project() -> Project:
        found = Project(tmp_path, TWO, supervisor=supervisor).model("never used").node(NODES)
        found.chat_models["default"] = Listening(RunControl())  # type: ignore[assignment]
        return found

    rows = Dying({}, point)
    with pytest.raises(Killed):
        await performed(project(), rows, RunControl(), begun=False)
    rows.point = ""
    result = await performed(project(), rows, RunControl())
    assert result.status == "completed"
    told = [(entry["step"], entry["by"]) for entry in result.trace or () if entry["type"] == "intervention"]
    assert told == [("first", "rules[0] iteration_reached")]
