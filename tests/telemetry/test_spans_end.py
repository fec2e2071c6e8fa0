"""Every span that begins ends, whatever cuts the work off, and a cancellation can be seen."""

import asyncio
import contextvars
import logging
from collections.abc import Awaitable

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from tests.agent.loop_support import ask, say
from tests.engine.agent_support import agent_project
from tests.engine.run_support import Project, Seen
from tests.support.clock import LoopTime
from tests.support.gates import reached
from tests.support.openai_server import Answer, serving
from tuvl.control import RunControl
from tuvl.tracing import OFF, current_ids, span

WAITING = """
    from tests.support.gates import wait_at
    from tuvl import node

    @node("hang")
    async def hang(ctx):
        await wait_at("hang")
"""
HANG = [{"ref": "hang", "description": "Hangs."}]


def hanging_model(begun: asyncio.Event):
    async def reply(request):
        begun.set()
        await asyncio.Event().wait()

    return reply


async def cancelled(project: Project, begun: Awaitable[object], sinks=()) -> None:
    """Run until the work has begun, then cancel it from outside."""
    running = asyncio.ensure_future(project.run(sinks=sinks))
    async with asyncio.timeout(20):
        await begun
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_run_that_is_cancelled_in_a_model_call_ends_its_spans_as_cancelled(recorded, tmp_path, caplog):
    """P01 otel.cancel: every started span ended, cancellation visible, error re-raised, active runs back to 0."""
    begun = asyncio.Event()
    with caplog.at_level(logging.DEBUG):
        await cancelled(agent_project(tmp_path, hanging_model(begun)), begun.wait(), recorded.telemetry.sinks())
    for name in ("workflow.execute", "node.Agent", "agent.iteration", "chat model"):
        ended = recorded.one(name)
        assert (ended.status.status_code, ended.attributes["error.type"]) == (StatusCode.ERROR, "cancelled")
    assert recorded.total("tuvl.runs.active") == 0
    assert [record.message for record in caplog.records if "detach" in record.message.lower()] == []


async def test_a_run_that_is_cancelled_in_a_tool_ends_its_spans_as_cancelled(recorded, tmp_path):
    """P01 otel.cancel, in a tool."""
    project = agent_project(tmp_path, ask(("hang", {})), nodes=WAITING, tools=HANG)
    await cancelled(project, reached("hang"))
    for name in ("workflow.execute", "node.Agent", "agent.iteration", "agent.tool_call", "node.Functional"):
        assert recorded.one(name).attributes["error.type"] == "cancelled"


class Watcher:
    """A sink that wakes the test when an event comes; sinks are called from threads of their own."""

    def __init__(self, type: str, event: asyncio.Event) -> None:
        self._type = type
        self._event = event
        self._loop = asyncio.get_running_loop()

    def accept(self, event) -> None:
        if event.body.type == self._type:
            self._loop.call_soon_threadsafe(self._event.set)


async def test_an_abort_ends_the_spans_and_shows(recorded, tmp_path):
    begun, control = asyncio.Event(), RunControl()
    project = agent_project(tmp_path, hanging_model(begun))
    running = asyncio.ensure_future(project.run(control=control))
    async with asyncio.timeout(20):
        await begun.wait()
        control.abort()
        result = await running
    assert result.status == "aborted"
    run = recorded.one("workflow.execute")
    assert (run.attributes["tuvl.run.status"], run.attributes["error.type"]) == ("aborted", "aborted")
    assert recorded.one("node.Agent").attributes["tuvl.step.signal"] == "aborted"
    assert recorded.one("agent.iteration").status.status_code is StatusCode.ERROR


async def test_a_run_that_takes_too_long_ends_its_spans(recorded, tmp_path):
    begun = asyncio.Event()
    running = asyncio.ensure_future(agent_project(tmp_path, hanging_model(begun)).run(timeout_s=60))
    async with asyncio.timeout(20):
        await begun.wait()
    LoopTime().advance(60)
    assert (await running).status == "failed"
    assert recorded.one("workflow.execute").attributes["error.type"] == "timeout"
    assert recorded.one("chat model").status.status_code is StatusCode.ERROR


async def test_a_tool_that_takes_too_long_is_a_timeout_of_its_call(recorded, tmp_path):
    tools = [{"ref": "hang", "description": "Hangs.", "timeout_s": 60}]
    project = agent_project(tmp_path, ask(("hang", {})), say("done"), nodes=WAITING, tools=tools)
    running = asyncio.ensure_future(project.run())
    await reached("hang")
    LoopTime().advance(60)
    await running
    assert recorded.one("agent.tool_call").attributes["error.type"] == "tool_timeout"
    assert recorded.one("node.Functional").attributes["error.type"] == "cancelled"


async def test_a_stream_that_is_left_early_ends_its_span(recorded, tmp_path, caplog):
    """A reader that leaves cancels the run in the middle of a streamed reply."""
    begun = asyncio.Event()

    async def endless(writer) -> None:
        writer.write(b'data: {"choices":[{"index":0,"delta":{"content":"so far "}}]}\n\n')
        await writer.drain()
        await asyncio.Event().wait()

    async with serving() as server:
        server.queue(Answer(headers={"content-type": "text/event-stream"}, stream=endless))
        project = agent_project(tmp_path, stream=True)
        spec = f'{{provider: openai_compatible, model: served, api_base: "{server.url}"}}'
        preset = f"kind: AgentModel\nmetadata: {{ name: default }}\nspec: {spec}\n"
        (tmp_path / "llms" / "default.yaml").write_text(preset, encoding="utf-8")
        project.chat_models.clear()
        engine = project.engine()
        running = asyncio.ensure_future(engine.run(project.plan(), {}, sinks=(Watcher("text_delta", begun),)))
        async with asyncio.timeout(20):
            await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await engine.aclose()
    assert recorded.one("chat served").attributes["error.type"] == "cancelled"
    assert recorded.one("chat served").attributes["gen_ai.response.finish_reasons"] == ("error",)
    assert [record.message for record in caplog.records if "detach" in record.message.lower()] == []


async def test_events_carry_the_span_they_happened_in(recorded, tmp_path):
    seen = Seen()
    await agent_project(tmp_path, ask(("look", {})), say("done")).run(sinks=(seen,))
    turns = {span.context.span_id for span in recorded.named("agent.iteration")}
    iterations = [event for event in seen.events if event.body.type == "iteration"]
    assert {int(event.span.span_id, 16) for event in iterations} == turns
    assert len({event.span.trace_id for event in seen.events}) == 1


async def test_without_a_tracer_events_name_no_span_and_spans_cost_no_object(tmp_path):
    seen = Seen()
    await agent_project(tmp_path, say("done")).run(sinks=(seen,))
    assert {event.span for event in seen.events} == {None}
    assert span("anything") is OFF
    assert current_ids() is None


def test_work_that_is_thrown_away_elsewhere_ends_its_span_and_leaves_the_other_place_alone(recorded, caplog):
    """An abandoned generator or coroutine is closed by whoever comes by, in a context of its own."""

    def work():
        with span("abandoned"):
            yield

    inside = work()
    contextvars.copy_context().run(next, inside)
    with span("elsewhere"):
        here = trace.get_current_span()
        inside.close()
        assert trace.get_current_span() is here
    assert {ended.name for ended in recorded.spans} == {"abandoned", "elsewhere"}
    assert not caplog.records


def test_what_somebody_else_left_open_inside_does_not_outlive_the_span(recorded):
    with span("ours"):
        trace.use_span(trace.NonRecordingSpan(trace.get_current_span().get_span_context())).__enter__()
    assert current_ids() is None


def test_a_span_hangs_on_one_of_the_program_around_it(recorded):
    tracer = recorded.telemetry._tracer._tracer
    with tracer.start_as_current_span("request"), span("ours"):
        pass
    assert recorded.tree() == ["request", "  ours"]
