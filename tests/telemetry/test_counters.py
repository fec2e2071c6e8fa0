"""What is counted, by which names, and what never becomes one."""

from datetime import UTC, datetime

import pytest

from tests.agent.loop_support import ask, say
from tests.engine.agent_support import agent_project
from tuvl.control import RunControl
from tuvl.events.types import Event, RunFinished, RunStarted
from tuvl.metrics import HOOK_EVENTS, Counters


async def test_turns_and_tool_calls_are_counted_by_workflow_and_step(recorded, tmp_path):
    project = agent_project(tmp_path, ask(("look", {}), ("look", {"q": "x"})), say("done"))
    await project.run(sinks=recorded.telemetry.sinks())
    where = {("tuvl.workflow", "flow"), ("tuvl.agent.step_id", "agent")}
    sums = recorded.sums()
    assert sums["tuvl.agent.iterations"] == {frozenset(where): 2}
    told = {("tuvl.agent.tool", "look"), ("tuvl.agent.tool_signal", "default")}
    assert sums["tuvl.agent.tool_calls"] == {frozenset(where | told): 2}


def event(body, run_id="r", step_id="agent"):
    return Event(run_id=run_id, seq=1, at=datetime(2030, 1, 1, tzinfo=UTC), step_id=step_id, body=body)


def test_runs_that_go_on_are_counted_up_and_down_each_for_itself(recorded):
    (one,), (other,) = recorded.telemetry.sinks(), recorded.telemetry.sinks()
    one.accept(event(RunStarted(workflow="a", schema_version="v1")))
    other.accept(event(RunStarted(workflow="b", schema_version="v1"), "s"))
    assert recorded.sums()["tuvl.runs.active"] == {
        frozenset({("tuvl.workflow", "a")}): 1,
        frozenset({("tuvl.workflow", "b")}): 1,
    }
    one.accept(event(RunFinished(status="completed", signal="default", duration_ms=1.0)))
    assert recorded.sums()["tuvl.runs.active"] == {
        frozenset({("tuvl.workflow", "a")}): 0,
        frozenset({("tuvl.workflow", "b")}): 1,
    }


async def test_a_tool_that_a_model_makes_up_does_not_become_a_name(recorded, tmp_path):
    project = agent_project(tmp_path, ask(("invented", {}), ("look", {"q": "x"})), say("done"))
    await project.run(sinks=recorded.telemetry.sinks())
    tools = {dict(told)["tuvl.agent.tool"] for told in recorded.sums()["tuvl.agent.tool_calls"]}
    assert tools == {"(refused)", "look"}


@pytest.mark.parametrize(
    ("counter", "bounds"),
    [("tuvl.agent.budget_exceeded", {"token_budget": 10}), ("tuvl.agent.aborts", {})],
)
async def test_ends_that_somebody_should_know_of_are_counted(recorded, tmp_path, counter, bounds):
    control = RunControl()

    def reply(request):
        if not bounds:
            control.abort()
        return ask(("look", {}), tokens=50)

    await agent_project(tmp_path, reply, **bounds).run(control=control, sinks=recorded.telemetry.sinks())
    assert recorded.total(counter) == 1


async def test_the_items_of_a_list_are_counted_as_one_step(recorded, tmp_path):
    project = agent_project(tmp_path, ask(("look", {})), say("one"), say("two"))
    path = tmp_path / "workflows" / "flow.yaml"
    each = '    - { id: each, kind: ForEach, items: "{{ names }}", as: item, step: agent, output_key: all }\n'
    path.write_text(path.read_text().replace("  steps:\n", f"  steps:\n{each}"), encoding="utf-8")
    result = await project.run({"names": ["a", "b"]}, sinks=recorded.telemetry.sinks())
    assert result.status == "completed", result.error
    steps = {dict(told)["tuvl.agent.step_id"] for told in recorded.sums()["tuvl.agent.iterations"]}
    assert steps == {"each[]/agent"}


def test_what_hooks_count_is_read_whenever_the_counters_are_collected(recorded):
    counters = Counters()
    recorded.telemetry.export(counters)
    counters.add(HOOK_EVENTS, {"hook": "audit@1", "event": "on_error"})
    counters.add(HOOK_EVENTS, {"hook": "audit@1", "event": "on_error"})
    counters.add("something.else")
    assert recorded.sums() == {
        "tuvl.hook.events": {frozenset({("hook", "audit@1"), ("event", "on_error")}): 2},
    }
    counters.add(HOOK_EVENTS, {"hook": "audit@1", "event": "on_error"})
    assert recorded.total("tuvl.hook.events") == 3


def test_what_several_engines_count_is_one_sum(recorded):
    for _ in range(2):
        counters = Counters()
        recorded.telemetry.export(counters)
        counters.add(HOOK_EVENTS, {"hook": "audit@1", "event": "on_error"})
    assert recorded.sums() == {"tuvl.hook.events": {frozenset({("hook", "audit@1"), ("event", "on_error")}): 2}}
