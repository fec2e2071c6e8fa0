"""A run that is cancelled or aborted, wherever it stands, ends at once and leaves nothing behind."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.clock import LoopTime
from tests.support.openai_server import Answer, serving
from tuvl import AgentLoop, Limits, ModelReply, OpenAICompatible, RunControl, ToolContext, ToolPolicy, tool
from tuvl.agent.gates import OpenGates
from tuvl.llm.messages import TextPiece
from tuvl.testing import ScriptedModel, call, calls, reply


class Hanging:
    """A model that never answers."""

    name = "hanging"
    price = None

    def __init__(self):
        self.started = asyncio.Event()
        self.cancelled = 0
        self.closed = 0

    async def complete(self, request) -> ModelReply:
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        raise AssertionError("it never answers")

    async def aclose(self):
        self.closed += 1


@asynccontextmanager
async def nothing_left() -> AsyncIterator[None]:
    """Fail when the block leaves a task behind; everything in it must be over."""
    before = asyncio.all_tasks()
    async with asyncio.timeout(60):
        yield
    assert asyncio.all_tasks() == before


async def stop(task: asyncio.Task, control: RunControl, how: str):
    """Stop a run; return its result, or `None` for one that was cancelled."""
    if how == "abort":
        control.abort("enough")
        return await task
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return None


STOPS = pytest.mark.parametrize("how", ["abort", "cancel"])


@STOPS
async def test_stopped_in_a_model_call(how):
    model, control = Hanging(), RunControl()
    async with nothing_left():
        task = asyncio.ensure_future(AgentLoop(model=lambda: model).run("go", control=control))
        await model.started.wait()
        result = await stop(task, control, how)
    assert (model.cancelled, model.closed) == (1, 1)
    if result:
        assert (result.signal, result.error.message) == ("aborted", "enough")
        assert [message.role for message in result.messages] == ["system", "user"]


@STOPS
async def test_stopped_in_a_call_to_a_server_closes_its_connection(how):
    async with serving() as server:
        server.queue(Answer(hang=True))
        control = RunControl()
        async with nothing_left_but_the_servers():
            loop = AgentLoop(model=OpenAICompatible(api_base=server.url, model="m"))
            task = asyncio.ensure_future(loop.run("go", control=control))
            await server.arrived.wait()
            await stop(task, control, how)


@asynccontextmanager
async def nothing_left_but_the_servers() -> AsyncIterator[None]:
    before = {task.get_coro().__qualname__ for task in asyncio.all_tasks()}
    async with asyncio.timeout(60):
        yield
    left = {task.get_coro().__qualname__ for task in asyncio.all_tasks()} - before
    assert left <= {"serving.<locals>.handle"}


@STOPS
async def test_stopped_in_tools_cancels_all_of_them_and_every_call_has_one_result(how):
    started, cancelled = [], []

    @tool(effects="read")
    async def hang(n: int) -> None:
        """Hang."""
        started.append(n)
        if len(started) == 2:
            both.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(n)

    both, control = asyncio.Event(), RunControl()
    model = ScriptedModel([calls(call("hang", {"n": 1}, id="a"), None, call("hang", {"n": 2}, id="b"))])
    loop = AgentLoop(model=model, tools=[hang], policy=ToolPolicy(concurrency=2))
    async with nothing_left():
        task = asyncio.ensure_future(loop.run("go", control=control))
        await both.wait()
        result = await stop(task, control, how)
    assert sorted(cancelled) == [1, 2]
    if result:
        results = [entry for entry in result.trace if entry["type"] == "tool_result"]
        assert [entry["call_id"] for entry in results] == ["a", "b"]
        assert all(entry["unanswered"].startswith("interrupted") for entry in results)


@STOPS
async def test_stopped_while_a_function_works_in_its_thread_does_not_wait_for_it(how):
    """The function is told, and what it still returns is void."""
    started, free, told = asyncio.Event(), threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work(context: ToolContext) -> str:
        """Work."""
        loop.call_soon_threadsafe(started.set)
        if context.abort.wait(10 if how == "abort" else 0):
            told.set()
        free.wait(10)
        return "late"

    control = RunControl()
    agent = AgentLoop(model=ScriptedModel([calls("work")]), tools=[work])
    async with nothing_left():
        task = asyncio.ensure_future(agent.run("go", control=control))
        await started.wait()
        result = await stop(task, control, how)
    free.set()
    if result:
        assert told.wait(5)
        assert result.signal == "aborted"


@STOPS
async def test_stopped_while_paused(how):
    control = RunControl()
    control.pause()
    model = ScriptedModel([reply("x")])
    async with nothing_left():
        task = asyncio.ensure_future(AgentLoop(model=model).run("go", control=control))
        await asyncio.sleep(0)
        result = await stop(task, control, how)
    assert result is None or (result.signal, result.usage.llm_calls) == ("aborted", 0)


@STOPS
async def test_stopped_while_streaming(how):
    model, control = Hanging(), RunControl()

    class Chatty(Hanging):
        async def complete(self, request):
            await request.on_delta(TextPiece(text="The ord"))
            return await super().complete(request)

    model = Chatty()
    seen = []
    async with nothing_left():
        loop = AgentLoop(model=model, stream=True)
        task = asyncio.ensure_future(loop.run("go", control=control, on_event=lambda e: seen.append(e.body.type)))
        await model.started.wait()
        await stop(task, control, how)
    assert "text_delta" in seen
    assert seen.count("outcome") == (1 if how == "abort" else 0)


@STOPS
async def test_stopped_in_a_gate(how):
    waiting, control = asyncio.Event(), RunControl()

    class Slow(OpenGates):
        async def input(self, text):
            waiting.set()
            await asyncio.Event().wait()

    async with nothing_left():
        loop = AgentLoop(model=ScriptedModel([]), gates=Slow())
        task = asyncio.ensure_future(loop.run("go", control=control))
        await waiting.wait()
        result = await stop(task, control, how)
    assert result is None or result.signal == "aborted"


async def test_the_wall_clock_cancels_what_is_in_flight():
    model, time = Hanging(), LoopTime()
    async with nothing_left():
        run = asyncio.ensure_future(AgentLoop(model=model, limits=Limits(max_wall_clock_s=30)).run("go"))
        await model.started.wait()
        time.advance(30)
        result = await run
    assert (result.signal, result.error.detail["limit"]) == ("budget_exceeded", "max_wall_clock_s")
    assert model.cancelled == 1


async def test_a_cancelled_run_is_not_an_abort_and_its_caller_stays_cancelled():
    model = Hanging()
    task = asyncio.ensure_future(AgentLoop(model=model).run("go"))
    await model.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


STUBBORN_TOOL = """
import asyncio
from tuvl import AgentLoop, Limits, ToolPolicy, tool
from tuvl.testing import ScriptedModel, call, calls
from tuvl.tools import deadline

deadline.run_with_deadline.__kwdefaults__["grace_s"] = 0.1

@tool(timeout_s=0.1)
async def stubborn() -> str:
    "Does not stop."
    async def child():
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                pass
    await asyncio.gather(child(), child())

loop = AgentLoop(
    model=ScriptedModel([calls(call("stubborn"))] * 2), tools=[stubborn],
    limits=Limits(max_iterations=1),
)
print(RUN)
"""


@pytest.mark.parametrize("run", ["loop.run_sync('x').signal", "asyncio.run(loop.run('x')).signal"])
def test_tool_that_swallows_its_cancellation_holds_back_neither_the_result_nor_the_process(run: str):
    code = STUBBORN_TOOL.replace("RUN", run)
    if "run_sync" not in run:
        # What the tool has started beside itself is the caller's event loop's, which waits for it.
        code = code.replace("await asyncio.gather(child(), child())", "await child()")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "error\n"), done.stderr
    assert "tool 'stubborn' was told to stop and goes on; it is left behind" in done.stderr
    assert "Task was destroyed" not in done.stderr
