"""Calls of one reply that run together: bounded, in call order for everyone who looks, and cancelled as one."""

import asyncio

import pytest

from tests.agent.loop_support import Loop, ask, boom, say, tool
from tuvl.errors import StepError
from tuvl.tools.toolbox import ToolPolicy


class Probe:
    """A tool that waits until told, and counts how many of it run at once."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.doors: dict[int, asyncio.Event] = {}
        self.entered: list[int] = []
        self.left: list[int] = []

    def door(self, n: int) -> asyncio.Event:
        return self.doors.setdefault(n, asyncio.Event())

    async def __call__(self, n: int):
        self.entered.append(n)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self.door(n).wait()
        finally:
            self.now -= 1
        self.left.append(n)
        return {"n": n}


def numbered(count, name="p"):
    return ask(*[(name, {"n": n}, f"c{n}") for n in range(count)])


def concurrent_loop(probe, count, limit, **plan):
    plan = {"effects": "read"} | plan
    return Loop(
        [numbered(count), say("done")],
        tools={"p": probe},
        plans={"p": tool("p", **plan)},
        policy=ToolPolicy(concurrency=limit, default_timeout_s=5),
    )


async def until(condition):
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0)


async def test_results_come_in_call_order_whatever_order_they_finish_in():
    probe = Probe()
    loop = concurrent_loop(probe, 3, 3, writes_context=True)
    run = asyncio.create_task(loop.run())
    await until(lambda: len(probe.entered) == 3)
    for n in (2, 1, 0):
        probe.door(n).set()
        await until(lambda n=n: n in probe.left)
    await run
    assert probe.left == [2, 1, 0]
    assert [message.tool_call_id for message in loop.results(2)] == ["c0", "c1", "c2"]
    assert [entry["call_id"] for entry in loop.entries("tool_result")] == ["c0", "c1", "c2"]
    assert loop.merged == [{"n": 0}, {"n": 1}, {"n": 2}]


@pytest.mark.parametrize(("limit", "most"), [(1, 1), (2, 2), (8, 5)])
async def test_never_more_at_once_than_the_setting(limit, most):
    probe = Probe()
    loop = concurrent_loop(probe, 5, limit)
    run = asyncio.create_task(loop.run())
    for n in range(5):
        await until(lambda n=n: n in probe.entered)
        if limit == 1 or n == 4:
            [probe.door(m).set() for m in range(n + 1)]
        elif n + 1 >= limit:
            await until(lambda: probe.now == min(limit, 5))
            [probe.door(m).set() for m in range(n + 1)]
    await run
    assert probe.most == most


async def test_writes_stay_serial_among_themselves():
    probe = Probe()
    [probe.door(n).set() for n in range(4)]
    loop = concurrent_loop(probe, 4, 4, effects="write")
    await loop.run()
    assert probe.most == 1
    assert probe.entered == [0, 1, 2, 3]


async def test_policy_fail_names_the_first_failure_in_call_order_not_the_first_to_finish():
    late = asyncio.Event()

    async def slow_failure():
        await late.wait()
        raise RuntimeError("first in order")

    async def quick_failure():
        late.set()
        raise RuntimeError("first to finish")

    loop = Loop(
        [ask(("slow", {}), ("quick", {}, "c2"))],
        tools={"slow": slow_failure, "quick": quick_failure},
        plans={name: tool(name, effects="read") for name in ("slow", "quick")},
        policy=ToolPolicy(concurrency=2, on_error="fail"),
    )
    ended = await loop.run()
    assert ended.reason.detail["tool"] == "slow"


async def test_a_hard_failure_cancels_the_running_siblings():
    """G01."""
    cancelled = asyncio.Event()

    async def sibling():
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def hang():
        await asyncio.Event().wait()

    loop = Loop(
        [ask(("sibling", {}), ("hang", {}, "c2"))],
        tools={"sibling": sibling, "hang": hang},
        plans={"sibling": tool("sibling", effects="read"), "hang": tool("hang", effects="read", timeout_s=0.02)},
        policy=ToolPolicy(concurrency=2),
    )
    ended = await loop.run()
    assert ended.reason.type == "tool_timeout"
    assert cancelled.is_set()


async def test_a_failing_call_under_report_leaves_its_siblings_alone():
    loop = Loop(
        [ask(("bad", {}), ("good", {}, "c2")), say("done")],
        tools={"bad": boom, "good": {"ok": 1}},
        plans={name: tool(name, effects="read") for name in ("bad", "good")},
        policy=ToolPolicy(concurrency=2),
    )
    await loop.run()
    assert [message.content for message in loop.results(2)] == [
        '{"error":{"type":"RuntimeError","message":"no stock"}}',
        '{"ok":1}',
    ]


async def test_abort_cancels_every_call_in_flight():
    probe = Probe()
    loop = concurrent_loop(probe, 3, 3)
    run = asyncio.create_task(loop.run())
    await until(lambda: len(probe.entered) == 3)
    loop.control.abort()
    assert (await asyncio.wait_for(run, 5)).signal == "aborted"
    assert probe.now == 0
    assert len(loop.entries("tool_result")) == 3


async def test_a_delta_the_context_cannot_take_is_a_failed_tool():
    def refuse(_delta):
        raise StepError("the public context would exceed max_context_bytes", type="context_too_large")

    loop = Loop([ask(("w", {})), say("done")], tools={"w": {"x": 1}}, plans={"w": tool("w", writes_context=True)})
    loop.toolbox._merge = refuse
    assert (await loop.run()).signal == "default"
    assert "context_too_large" in loop.results(2)[0].content
