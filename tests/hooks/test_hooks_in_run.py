"""Hooks in a run: they are told of everything they wait for, once, and can change and harm nothing."""

import asyncio
import json
import logging

import pytest

from tests.guardrails.guard_support import GuardedProject, Until
from tests.support.http_server import Answer, serving
from tuvl.control import RunControl
from tuvl.metrics import HOOK_EVENTS

CALL = {"tool_calls": [{"name": "look", "arguments": {"n": 1}}]}
EVENTS = ("before_step", "after_step", "before_tool", "after_tool", "on_error", "on_stop")


@pytest.fixture
def project(tmp_path) -> GuardedProject:
    return GuardedProject(tmp_path)


def our_tasks() -> set[asyncio.Task]:
    """The tasks of this loop without those of the server that a test talks to."""
    return {task for task in asyncio.all_tasks() if not task.get_coro().__qualname__.startswith("serving.")}


async def counted(project: GuardedProject, input=None, **how):
    """Run the workflow and return the result with how often each event was counted, by hook."""
    engine = project.engine()
    before = our_tasks()
    try:
        result = await engine.run(project.plan(), input or {}, **how)
    finally:
        await engine.aclose()
    assert our_tasks() == before, "a task outlived the run"
    sums = {(own["hook"], own["event"]): count for name, own, count in engine.counters.items() if name == HOOK_EVENTS}
    return result, sums


def all_events(project: GuardedProject, action: str = "metric") -> list[str]:
    for event in EVENTS:
        project.hook(event, event, action)
    return [f"artifact://{event}@1" for event in EVENTS]


async def test_hooks_of_the_workflow_see_every_step_and_call_and_the_end_of_the_run(project):
    project.model(CALL, "done").agent(workflow={"hooks": all_events(project)})
    _, sums = await counted(project)
    assert sums == {
        ("before_step@1", "before_step"): 2,  # the agent, and the tool's step
        ("after_step@1", "after_step"): 2,
        ("before_tool@1", "before_tool"): 1,
        ("after_tool@1", "after_tool"): 1,
        ("on_stop@1", "on_stop"): 1,
    }


async def test_hooks_of_a_step_see_that_step_and_its_calls(project):
    project.model(CALL, "done").agent(hooks=tuple(all_events(project)))
    _, sums = await counted(project)
    assert sums == {(f"{event}@1", event): 1 for event in EVENTS if event != "on_error"}


async def test_a_hook_that_workflow_and_step_both_name_fires_once(project):
    project.hook("seen", "before_step", "metric").model("done")
    project.agent(hooks=("artifact://seen@1", "artifact://seen"), workflow={"hooks": ["artifact://seen@1"]})
    assert (await counted(project))[1] == {("seen@1", "before_step"): 1}


ENDS = {
    "default": {"replies": ["done"]},
    "max_iterations": {"replies": [CALL], "fields": {"max_iterations": 1}},
    "budget_exceeded": {"replies": [CALL | {"usage": {"input_tokens": 99}}], "fields": {"token_budget": 5}},
    "error": {"replies": [""]},
    "guardrail_violation": {"replies": ["long"], "fields": {"guardrails": {"output": ["artifact://short@1"]}}},
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("where", ["step", "workflow"])
async def test_on_stop_fires_exactly_once_on_every_end(project, end, where):
    """Edge 81: on_stop fires exactly once on success, cap and error."""
    project.guardrail("short", {"check": "max_chars", "limit": 1})
    project.hook("stopped", "on_stop", "metric").model(*ENDS[end]["replies"])
    hooks = {"hooks": ("artifact://stopped@1",)} if where == "step" else {}
    project.agent(
        **hooks,
        workflow={"hooks": ["artifact://stopped@1"] if where == "workflow" else []},
        **ENDS[end].get("fields", {}),
    )
    result, sums = await counted(project)
    assert result.steps[0].signal == end
    assert sums == {("stopped@1", "on_stop"): 1}


@pytest.mark.parametrize("where", ["step", "workflow"])
async def test_on_stop_fires_exactly_once_on_an_abort(project, where):
    """Edge 81: on_stop fires exactly once on abort; its step hooks hear of the abort too."""
    control, begun = RunControl(), Until("model_call_started")
    project.hook("stopped", "on_stop", "metric").model({"text": "late", "delay_s": 60})
    hooks = {"hooks": ("artifact://stopped@1",)} if where == "step" else {}
    project.agent(**hooks, workflow={"hooks": ["artifact://stopped@1"] if where == "workflow" else []})
    running = asyncio.create_task(counted(project, control=control, sinks=[begun]))
    await begun.come.wait()
    control.abort("enough")
    result, sums = await running
    assert result.status == "aborted"
    assert sums == {("stopped@1", "on_stop"): 1}


async def test_after_step_and_on_error_fire_when_a_step_fails(project, caplog):
    """G14 hook.isolation: after hooks are not skipped when the step fails, on_error fires."""
    for event in ("after_step", "on_error"):
        project.hook(event, event, "log")
    hooks = ["artifact://after_step@1", "artifact://on_error@1"]
    project.workflow(f"- {{ id: bad, kind: Functional, runner: fail, message: no stock, hooks: {json.dumps(hooks)} }}")
    with caplog.at_level(logging.INFO, "tuvl.hooks"):
        result, _ = await counted(project)
    assert result.status == "failed"
    told = [json.loads(record.message) for record in caplog.records]
    assert [payload["event"] for payload in told] == ["after_step", "on_error"]
    assert told[1]["signal"] == "error"
    assert told[1]["error"] == {"type": "failed", "message": "no stock"}
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]


async def test_a_step_that_a_deadline_cuts_off_fires_its_hooks(project):
    for event in ("after_step", "on_error"):
        project.hook(event, event, "metric")
    steps = "- { id: slow, kind: Functional, runner: wait, seconds: 60 }"
    project.workflow(steps, hooks=["artifact://after_step@1", "artifact://on_error@1"])
    result, sums = await counted(project, timeout_s=0.5)
    assert result.error.type == "timeout"
    assert sums == {("after_step@1", "after_step"): 1, ("on_error@1", "on_error"): 1}


async def test_a_call_that_does_not_run_fires_no_tool_hooks(project):
    """Edge 30: a suppressed twin, and a call that is refused, fire none."""
    for event in ("before_tool", "after_tool"):
        project.hook(event, event, "metric")
    twice = {"tool_calls": [{"name": "look", "arguments": {"n": 1}}] * 2 + [{"name": "no_such", "arguments": {}}]}
    project.model(twice, "done")
    project.agent(hooks=("artifact://before_tool@1", "artifact://after_tool@1"), dedup_within_turn=True)
    result, sums = await counted(project)
    assert result.usage.tool_calls == 3
    assert sums == {("before_tool@1", "before_tool"): 1, ("after_tool@1", "after_tool"): 1}


@pytest.mark.parametrize("body", ['raise RuntimeError("no")', 'return {"said": "long"}'])
async def test_after_tool_fires_when_the_tool_fails_and_when_its_result_is_refused(project, body, caplog):
    project.guardrail("short", {"check": "max_chars", "limit": 3}).looking(body).model(CALL, "done")
    project.hook("after", "after_tool", "log")
    project.agent(hooks=("artifact://after@1",), guardrails={"tools": ["artifact://short@1"]})
    with caplog.at_level(logging.INFO, "tuvl.hooks"):
        await counted(project)
    [record] = [record for record in caplog.records if record.name == "tuvl.hooks"]
    assert json.loads(record.message) == {
        "event": "after_tool",
        "hook": "after@1",
        "run_id": json.loads(record.message)["run_id"],
        "workflow": "flow",
        "step": "agent",
        "kind": "Agent",
        "tool": "look",
        "signal": "error",
    }


async def test_a_payload_holds_no_values_of_the_run(project, caplog):
    project.model(CALL | {"text": "model-words"}, "answer-words").looking('return {"said": "result-words"}')
    project.agent(hooks=tuple(all_events(project, "log")))
    with caplog.at_level(logging.INFO, "tuvl.hooks"):
        await counted(project, {"text": "input-words"})
    assert caplog.records
    assert "-words" not in caplog.text


# ---- notify --------------------------------------------------------------------------------------------------------


def notifying(project: GuardedProject, origin: str, *events: str, more: str = "", **target: object) -> list[str]:
    """Declare one notify hook for each event; the APICall step `tell` is their target."""
    project.config(http={"allow_hosts": ["127.0.0.1"]})
    for event in events:
        project.hook(f"tell_{event}", event, "notify", target="tell")
    step = {
        "id": "tell",
        "kind": "APICall",
        "http": {"url": f"{origin}/told", "method": "POST", "json": {"event": "{{ args }}", "text": "{{ text }}"}},
        "response": {"output_key": "told"},
    } | target
    project.agent(hooks=tuple(f"artifact://tell_{event}@1" for event in events), more=f"- {json.dumps(step)}\n{more}")
    return []


async def test_notify_calls_its_step_on_a_private_copy_and_leaves_nothing_behind(project):
    async with serving() as server:
        server.queue(*({"ok": True} for _ in range(4)))
        notifying(project, server.origin, "before_step", "before_tool", "after_tool", "on_stop")
        project.model(CALL, "done").looking("return {}")
        result, _ = await counted(project, {"text": "hi"})
        bodies = server.bodies
    assert sorted(body["event"]["event"] for body in bodies) == ["after_tool", "before_step", "before_tool", "on_stop"]
    assert all(body["text"] == "hi" for body in bodies)
    assert result.context == {"text": "hi", "agent_result": "done"}
    assert [step.id for step in result.steps] == ["agent"]
    assert result.usage.tool_calls == 1
    [stopped] = [body["event"] for body in bodies if body["event"]["event"] == "on_stop"]
    assert {key: stopped[key] for key in ("hook", "step", "kind", "signal", "workflow", "run_id")} == {
        "hook": "tell_on_stop@1",
        "step": "agent",
        "kind": "Agent",
        "signal": "default",
        "workflow": "flow",
        "run_id": result.run_id,
    }


async def test_a_notification_that_fails_is_one_log_line_and_harms_nothing(project, caplog):
    """G14 hook.isolation: run unaffected, one log line per failure."""
    async with serving() as server:
        server.queue(Answer(status=500), Answer(drop=True))
        notifying(project, server.origin, "before_tool", "on_stop")
        project.model(CALL, "done")
        with caplog.at_level(logging.INFO, "tuvl.hooks"):
            result, _ = await counted(project, {"text": "hi"})
    assert result.status == "completed"
    assert result.error is None
    lines = sorted(record.message for record in caplog.records if record.name == "tuvl.hooks")
    assert len(lines) == 2
    assert lines[0].startswith("hook 'tell_before_tool@1' (notify on before_tool) failed at step 'agent': ")
    assert lines[1].startswith("hook 'tell_on_stop@1' (notify on on_stop) failed at step 'agent': ")


async def test_a_template_that_a_notification_cannot_fill_harms_nothing(project, caplog):
    async with serving() as server:
        notifying(project, server.origin, "before_tool")
        project.model(CALL, "done")
        with caplog.at_level(logging.WARNING, "tuvl.hooks"):
            result, _ = await counted(project)
    assert result.status == "completed"
    assert [record.name for record in caplog.records] == ["tuvl.hooks"]


async def test_a_notification_that_never_ends_does_not_hold_up_the_run(project, caplog, monkeypatch):
    monkeypatch.setattr("tuvl.hooks.emit.TIMEOUT_S", 0.2)
    async with serving() as server:
        server.queue(Answer(hang=True))
        notifying(project, server.origin, "before_tool")
        project.model(CALL, "done")
        with caplog.at_level(logging.WARNING, "tuvl.hooks"):
            result, _ = await counted(project, {"text": "hi"})
    assert result.status == "completed"
    assert [record.message for record in caplog.records] == [
        "hook 'tell_before_tool@1' (notify on before_tool) failed at step 'agent': it was not done within 0.2 s"
    ]


async def test_on_stop_notifies_after_an_abort_too(project):
    control, begun = RunControl(), Until("model_call_started")
    async with serving() as server:
        server.queue({"ok": True})
        notifying(project, server.origin, "on_stop")
        project.model({"text": "late", "delay_s": 60})
        running = asyncio.create_task(counted(project, {"text": "hi"}, control=control, sinks=[begun]))
        await begun.come.wait()
        control.abort("enough")
        result, _ = await running
        [body] = server.bodies
    assert result.status == "aborted"
    assert body["event"]["signal"] == "aborted"


async def test_a_run_that_is_cancelled_leaves_no_notification_behind(project):
    async with serving() as server:
        server.queue(Answer(hang=True), Answer(hang=True))
        notifying(project, server.origin, "before_step")
        project.model({"text": "late", "delay_s": 60})
        engine, before = project.engine(), our_tasks()
        running = asyncio.create_task(engine.run(project.plan(), {"text": "hi"}))
        await server.arrived.wait()
        running.cancel()
        await asyncio.sleep(0)
        running.cancel()  # a second time, while the hooks are settled
        with pytest.raises(asyncio.CancelledError):
            await running
        await engine.aclose()
        assert our_tasks() == before


async def test_the_target_of_a_hook_stays_off_the_spine(project):
    async with serving() as server:
        notifying(project, server.origin, "on_error")
        project.model("done")
        result, _ = await counted(project, {"text": "hi"})
        assert server.requests == []
    assert [step.id for step in result.steps] == ["agent"]
