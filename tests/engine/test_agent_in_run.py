"""Agents inside a run: their tools are steps of the file, on a context of their own."""

import asyncio
import json
import sys

import pytest

from tests.engine.run_support import OnEvent, Project, Seen, ids
from tests.support.clock import LoopTime
from tuvl.control import RunControl
from tuvl.testing.clock import ManualClock

AGENT = """
- id: agent
  kind: Agent
  mode: autonomous
  agent: {agent}
  routes: {{ default: END, max_iterations: END, budget_exceeded: END, error: END, aborted: clean }}
- {{ id: clean, kind: Functional, runner: set, values: {{ cleaned: true }} }}
{tools}
"""


def project(tmp_path, *replies, tools: str, refs: list[dict], **agent) -> Project:
    fields = {"model": "default", "steering": "Do it.", "tools": [{"description": "d", **ref} for ref in refs], **agent}
    steps = AGENT.format(agent=json.dumps(fields), tools=tools.strip())
    return Project(tmp_path, steps).model(*replies)


def ask(*calls: tuple[str, object], tokens: int = 10) -> dict:
    return {
        "tool_calls": [{"name": name, "arguments": arguments} for name, arguments in calls],
        "usage": {"input_tokens": tokens, "output_tokens": 0},
    }


DOUBLE = '- { id: double, kind: Functional, runner: set, values: { twice: "{{ n * 2 }}", same: "{{ args.n * 2 }}" } }'


async def test_arguments_are_laid_over_the_context_for_the_tool_and_for_nobody_else(tmp_path):
    subject = project(tmp_path, ask(("double", {"n": 21})), "done", tools=DOUBLE, refs=[{"ref": "double"}])
    result = await subject.run({"n": 1}, trace=True)
    assert (result.status, result.signal) == ("completed", "default")
    assert result.context == {"n": 1, "agent_result": "done"}
    content = [entry["content"] for entry in result.trace if entry["type"] == "tool_result"]
    assert [json.loads(text) for text in content] == [{"twice": 42, "same": 42}]
    assert result.usage.tool_calls == 1
    assert result.steps[0].iteration_count == 2


async def test_a_tool_that_writes_the_context_writes_what_it_set_and_no_argument(tmp_path):
    refs = [{"ref": "double", "writes_context": True}]
    subject = project(tmp_path, ask(("double", {"n": 21})), ask(("double", {"n": 5})), "done", tools=DOUBLE, refs=refs)
    result = await subject.run({"n": 1})
    assert result.context == {"n": 1, "twice": 10, "same": 10, "agent_result": "done"}


async def test_a_tool_that_would_outgrow_the_context_is_told_to_the_model_and_changes_nothing(tmp_path):
    tools = '- { id: grow, kind: Functional, runner: set, values: { text: "{{ text ~ text ~ text }}" } }'
    refs = [{"ref": "grow", "writes_context": True}]
    subject = project(tmp_path, ask(("grow", {})), "done", tools=tools, refs=refs)
    path = tmp_path / "workflows" / "flow.yaml"
    path.write_text(path.read_text().replace("spec:\n", "spec:\n  limits: { max_context_bytes: 200 }\n"))
    result = await subject.run({"text": "x" * 80}, trace=True)
    assert result.status == "completed", result.error
    assert result.context == {"text": "x" * 80, "agent_result": "done"}
    (told,) = [entry for entry in result.trace if entry["type"] == "tool_result"]
    assert json.loads(told["content"])["error"]["type"] == "context_too_large"


NODES = """
    from tuvl import node

    calls = []


    @node("spoil")
    async def spoil(ctx):
        ctx["order"]["lines"].append("spoilt")
        ctx.args["given"].append("spoilt")
        return {"saw": sorted(ctx), "lines": ctx["order"]["lines"], "given": ctx["given"], "args": ctx.args["given"]}


    @node("fails")
    async def fails(ctx):
        calls.append("fails")
        raise RuntimeError("no stock")


    @node("later")
    async def later(ctx):
        calls.append("later")
        return {}


    @node("hangs")
    async def hangs(ctx):
        import asyncio

        await asyncio.sleep(3600)


    @node("odd")
    async def odd(ctx):
        loop = []
        loop.append(loop)
        return {"loop": loop}
"""


async def test_a_tool_gets_copies_at_any_depth(tmp_path):
    tools = "- { id: spoil, kind: Functional, runner: spoil }"
    subject = project(tmp_path, ask(("spoil", {"given": [1]})), "done", tools=tools, refs=[{"ref": "spoil"}])
    result = await subject.node(NODES).run({"order": {"lines": ["tea"]}}, trace=True)
    assert result.context == {"order": {"lines": ["tea"]}, "agent_result": "done"}
    (told,) = [entry for entry in result.trace if entry["type"] == "tool_result"]
    assert json.loads(told["content"]) == {
        "saw": ["given", "order"],
        "lines": ["tea", "spoilt"],
        "given": [1],
        "args": [1, "spoilt"],
    }


@pytest.mark.parametrize(("runner", "type"), [("fails", "node_error"), ("odd", "bad_result")])
async def test_a_tool_that_fails_is_told_to_the_model_and_the_loop_goes_on(tmp_path, runner, type):
    """H01 result.serialise; loop 40, 43."""
    tools = f"- {{ id: tool, kind: Functional, runner: {runner} }}"
    subject = project(tmp_path, ask(("tool", {})), "done", tools=tools, refs=[{"ref": "tool"}]).node(NODES)
    result = await subject.run(trace=True)
    assert (result.status, result.signal, result.error) == ("completed", "default", None)
    (told,) = [entry for entry in result.trace if entry["type"] == "tool_result"]
    assert json.loads(told["content"])["error"]["type"] == type


async def test_a_failed_tool_that_ends_the_agent_keeps_later_calls_from_starting(tmp_path):
    """G01 task.leak."""
    tools = "- { id: fails, kind: Functional, runner: fails }\n- { id: later, kind: Functional, runner: later }"
    refs = [{"ref": "fails"}, {"ref": "later"}]
    reply = ask(("fails", {}), ("later", {}))
    subject = project(tmp_path, reply, tools=tools, refs=refs, tool_error_policy="fail").node(NODES)
    result = await subject.run()
    assert (result.signal, result.status) == ("error", "completed")  # routed to END
    assert result.error is not None
    assert (result.error.type, result.error.step) == ("tool_error", "agent")
    module = loaded_nodes(subject)
    assert module.calls == ["fails"]


def loaded_nodes(subject: Project):
    path = str(subject.root / "nodes" / "stock.py")
    return next(module for module in list(sys.modules.values()) if getattr(module, "__file__", None) == path)


async def test_a_router_as_a_tool_answers_with_its_signal(tmp_path):
    tools = "- { id: size, kind: Router, match: { field: args.size }, routes: { default: END } }"
    subject = project(tmp_path, ask(("size", {"size": "large"})), "done", tools=tools, refs=[{"ref": "size"}])
    result = await subject.run(trace=True)
    (told,) = [entry for entry in result.trace if entry["type"] == "tool_result"]
    assert told["content"] == '{"signal":"large"}'


async def test_every_abnormal_end_of_an_agent_carries_its_trace(tmp_path):
    subject = project(tmp_path, ask(("double", {"n": 1})), tools=DOUBLE, refs=[{"ref": "double"}], max_iterations=1)
    result = await subject.run()
    assert (result.signal, result.status) == ("max_iterations", "completed")
    assert result.error is not None
    assert result.error.type == "max_iterations"
    assert result.trace is not None
    assert [entry["type"] for entry in result.trace] == ["assistant", "tool_call", "tool_result", "outcome"]
    assert {entry["step"] for entry in result.trace} == {"agent"}
    assert "trace" in result.to_json()


async def test_a_normal_end_has_no_trace_unless_it_is_asked_for(tmp_path):
    subject = project(tmp_path, "done", tools=DOUBLE, refs=[{"ref": "double"}])
    assert "trace" not in (await subject.run()).to_json()
    assert "trace" in (await subject.run(trace=True)).to_json()


async def test_an_abort_during_a_tool_cleans_up_and_keeps_the_trace(tmp_path):
    """N11 wf.cleanup."""
    tools = "- { id: hangs, kind: Functional, runner: hangs }"
    subject = project(tmp_path, ask(("hangs", {})), tools=tools, refs=[{"ref": "hangs"}]).node(NODES)
    control = RunControl()

    class AbortAtTheTool:
        def accept(self, event):
            if event.body.type == "tool_call_started":
                loop.call_soon_threadsafe(control.abort, "stop it")

    loop = asyncio.get_running_loop()
    result = await subject.run(control=control, sinks=[AbortAtTheTool()])
    assert (result.status, ids(result)) == ("aborted", ["agent", "clean"])
    assert result.context == {"cleaned": True}
    assert result.error is not None
    assert (result.error.type, result.error.message) == ("aborted", "stop it")
    assert result.trace is not None
    assert result.trace[-1]["signal"] == "aborted"


async def test_the_run_limit_cuts_an_agent_off_and_keeps_its_trace(tmp_path):
    tools = "- { id: hangs, kind: Functional, runner: hangs }"
    subject = project(tmp_path, ask(("hangs", {})), tools=tools, refs=[{"ref": "hangs"}]).node(NODES)
    time = LoopTime()
    result = await subject.run(timeout_s=60, sinks=[OnEvent("tool_call_started", lambda: time.advance(60))])
    assert (result.status, result.signal) == ("failed", "error")
    assert result.error is not None
    assert (result.error.type, result.error.step) == ("timeout", "agent")
    assert result.trace is not None
    assert [entry["type"] for entry in result.trace][:2] == ["assistant", "tool_call"]


async def test_tokens_of_the_whole_run_bound_every_agent_in_it(tmp_path):
    """E11 config.unenforced: limits.max_tokens."""
    subject = project(tmp_path, ask(("double", {"n": 1}), tokens=60), "never", tools=DOUBLE, refs=[{"ref": "double"}])
    path = tmp_path / "workflows" / "flow.yaml"
    path.write_text(path.read_text().replace("spec:\n", "spec:\n  limits: { max_tokens: 50 }\n"))
    result = await subject.run()
    assert result.signal == "budget_exceeded"
    assert result.error is not None
    assert result.error.detail["limit"] == "limits.max_tokens"
    assert result.usage.total_tokens == 60


async def test_an_unknown_model_is_a_failure_of_the_step_at_its_first_use(tmp_path):
    subject = project(tmp_path, "done", tools=DOUBLE, refs=[{"ref": "double"}], model="defualt")
    result = await subject.run()
    assert result.error is not None
    assert (result.error.type, result.error.step) == ("config", "agent")
    assert "'defualt'" in result.error.message
    assert "default" in result.error.message
    assert result.trace == ()


async def test_events_of_an_agent_come_between_those_of_its_step(tmp_path):
    seen = Seen()
    subject = project(tmp_path, ask(("double", {"n": 1})), "done", tools=DOUBLE, refs=[{"ref": "double"}])
    await subject.run(sinks=[seen])
    assert seen.types[:2] == ["run_started", "step_started"]
    assert seen.types[-3:] == ["outcome", "step_finished", "run_finished"]
    assert {"model_call_started", "iteration", "tool_call_started", "tool_call"} <= set(seen.types[2:-3])
    assert {event.step_id for event in seen.events[1:-1]} == {"agent"}


@pytest.mark.parametrize("bound", ["step", "run"])
async def test_agent_that_a_timeout_cuts_off_still_tells_how_many_turns_it_had(tmp_path, bound):
    tools = "- { id: slow, kind: Functional, runner: wait, seconds: 3600 }"
    subject = project(tmp_path, ask(("slow", {})), "done", tools=tools, refs=[{"ref": "slow"}])
    flow = tmp_path / "workflows" / "flow.yaml"
    if bound == "step":
        flow.write_text(flow.read_text().replace("kind: Agent", "kind: Agent\n      timeout_s: 60"))
    subject.clock, time = ManualClock(), LoopTime()
    run = asyncio.create_task(subject.run(timeout_s=None if bound == "step" else 60))
    await subject.clock.until_someone_sleeps()
    time.advance(60)
    result = await run
    assert result.error is not None
    assert result.error.type == "timeout"
    assert result.steps[0].iteration_count == 1


async def test_agent_that_is_cut_off_before_its_first_reply_had_no_turns(tmp_path):
    control = RunControl()
    control.abort("before it began")
    subject = project(tmp_path, "done", tools=DOUBLE, refs=[{"ref": "double"}])
    result = await subject.run({"n": 1}, control=control)
    assert result.steps[0].iteration_count == 0
