"""`ctx.batch`: a node may wait for the calls before its own, and never waits for ever."""

import asyncio

import pytest

from tests.agent.loop_support import ask, say
from tests.engine.agent_support import agent_project, errors_told, module_of, told

NODES = """
    import asyncio
    from tuvl import node

    order = []
    release = asyncio.Event()


    @node("slow", effects="read")
    async def slow(ctx):
        async with asyncio.timeout(10):
            await release.wait()
        order.append("slow")
        return {"slow": True}


    @node("fails", effects="read")
    async def fails(ctx):
        raise RuntimeError("no")


    @node("after", effects="read")
    async def after(ctx):
        release.set()
        await ctx.batch.wait_for_predecessors()
        order.append(("after", ctx.batch.index, ctx.batch.size))
        return {"after": True}


    @node("threaded", effects="read")
    def threaded(ctx):
        ctx.batch.wait_for_predecessors()
        order.append("threaded")
        return {"threaded": True}


    @node("written")
    async def written(ctx):
        release.set()
        await ctx.batch.wait_for_predecessors()
        order.append(("written", ctx.args["n"]))
        return {}
"""

TOOLS = [{"ref": name, "description": "d"} for name in ("slow", "fails", "after", "threaded", "written")]


def project(tmp_path, *calls, **fields):
    reply = ask(*((name, {"n": index}, f"c{index}") for index, name in enumerate(calls)))
    return agent_project(tmp_path, reply, say("done"), nodes=NODES, tools=TOOLS, **fields)


async def test_call_waits_for_those_before_it(tmp_path):
    subject = project(tmp_path, "slow", "after", tool_concurrency=4)
    await asyncio.wait_for(subject.run(), 10)
    assert module_of(subject, "extra.py").order == ["slow", ("after", 1, 2)]


@pytest.mark.parametrize("predecessor", ["fails", "no_such_tool"])
async def test_predecessor_that_failed_or_was_refused_releases_the_waiter(tmp_path, predecessor):
    """Loop 23."""
    subject = project(tmp_path, predecessor, "after", tool_concurrency=2)
    result = await asyncio.wait_for(subject.run(trace=True), 10)
    assert len(errors_told(result)) == 1
    assert told(result)[1] == '{"after":true}'


async def test_with_one_call_at_a_time_nothing_waits_for_ever(tmp_path):
    """Loop 24."""
    subject = project(tmp_path, "fails", "after", "after", tool_concurrency=1)
    await asyncio.wait_for(subject.run(), 10)
    assert module_of(subject, "extra.py").order == [("after", 1, 3), ("after", 2, 3)]


async def test_writing_calls_that_wait_for_each_other_do_not_lock_each_other_out(tmp_path):
    """Loop 24."""
    subject = project(tmp_path, "written", "written", "written", tool_concurrency=3)
    await asyncio.wait_for(subject.run(), 10)
    assert module_of(subject, "extra.py").order == [("written", 0), ("written", 1), ("written", 2)]


async def test_node_in_a_thread_waits_by_calling(tmp_path):
    subject = project(tmp_path, "fails", "threaded", tool_concurrency=2)
    result = await asyncio.wait_for(subject.run(trace=True), 10)
    assert told(result)[1] == '{"threaded":true}'


async def test_node_outside_of_a_batch_waits_for_nobody(tmp_path):
    subject = project(tmp_path, "slow")
    subject.workflow("- { id: a, kind: Functional, runner: after }")
    await asyncio.wait_for(subject.run(), 10)
    assert module_of(subject, "extra.py").order == [("after", 0, 1)]
