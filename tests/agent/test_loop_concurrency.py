"""Calls of one reply that run together: bounded, in call order for everyone who looks, and cancelled as one."""

import asyncio

import pytest

from tests.agent.loop_support import Loop, ask, boom, say, tool
from tuvl.errors import StepError
from tuvl.tools.approval import ApprovalDecision
from tuvl.tools.clearance import CLEARED, DENIED, Cleared
from tuvl.tools.tool import ToolFailure
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


class Audited:
    """An audit that keeps the order of the calls."""

    def __init__(self):
        self.calls = []

    async def completion(self, record):
        pass

    async def tool_call(self, record):
        self.calls.append(record.call.id)


async def test_results_come_in_call_order_whatever_order_they_finish_in():
    """Edge case 19: messages, trace, audit and what is written."""
    probe = Probe()
    loop = concurrent_loop(probe, 3, 3, writes_context=True)
    audit = loop.runner.ledger.audit = Audited()
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
    assert audit.calls == ["c0", "c1", "c2"]


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


def failing_reply(*calls, limit, clearance=None, **functions):
    """Calls under `tool_error_policy: fail`; those whose name begins with `w` write."""
    names = list(functions)
    loop = Loop(
        [ask(*[(name, {}, name) for name in calls])],
        tools=functions,
        plans={name: tool(name, effects="write" if name.startswith("w") else "read") for name in names},
        policy=ToolPolicy(concurrency=limit, on_error="fail", default_timeout_s=5),
    )
    loop.toolbox._clearance = clearance
    return loop


def names_of_run(loop):
    return [name for name, _ in loop.ran]


def what_became_of(loop):
    return {entry["call_id"]: entry.get("unanswered") or entry["signal"] for entry in loop.entries("tool_result")}


async def test_under_policy_fail_a_queued_call_does_not_begin_once_a_failure_is_known():
    """G01: the slot that the first call frees is not given to the third, for the second has failed by then."""
    failed, slow_may_end = asyncio.Event(), asyncio.Event()

    async def bad():
        failed.set()
        raise RuntimeError("no stock")

    async def slow():
        await slow_may_end.wait()
        return {"ok": 1}

    loop = failing_reply("slow", "bad", "later", limit=2, slow=slow, bad=bad, later={"ok": 1})
    run = asyncio.create_task(loop.run())
    await failed.wait()
    slow_may_end.set()
    ended = await run
    assert (ended.reason.type, ended.reason.detail["tool"]) == ("tool_error", "bad")
    assert names_of_run(loop) == ["slow", "bad"]
    assert what_became_of(loop) == {"slow": "default", "bad": "error", "later": "not run: error"}


async def test_under_policy_fail_a_write_that_waits_for_another_does_not_begin_once_a_failure_is_known():
    first_may_end = asyncio.Event()

    async def first():
        await first_may_end.wait()
        return {"ok": 1}

    async def bad():
        first_may_end.set()
        raise RuntimeError("no stock")

    loop = failing_reply("w1", "w2", "bad", limit=3, w1=first, w2={"ok": 1}, bad=bad)
    ended = await loop.run()
    assert ended.reason.detail["tool"] == "bad"
    assert names_of_run(loop) == ["w1", "bad"]
    assert what_became_of(loop) == {"w1": "default", "bad": "error", "w2": "not run: error"}


class Nobody:
    """Asks, and is never answered."""

    def __init__(self, *, about):
        self.about = about
        self.asked = asyncio.Event()
        self.left = False

    async def clear(self, tool, _arguments, *, call_id, turn):
        if tool.ref != self.about:
            return CLEARED
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left = True


async def test_under_policy_fail_nobody_is_asked_about_a_call_that_will_not_run():
    nobody = Nobody(about="asks")

    async def bad():
        await nobody.asked.wait()
        raise RuntimeError("no stock")

    loop = failing_reply("asks", "bad", limit=2, clearance=nobody, asks={"ok": 1}, bad=bad)
    ended = await asyncio.wait_for(loop.run(), 5)
    assert ended.reason.detail["tool"] == "bad"
    assert names_of_run(loop) == ["bad"]
    assert nobody.left


async def test_a_mistake_of_the_model_halts_nothing_under_policy_fail():
    loop = failing_reply("nope", "good", limit=2, good={"ok": 1})
    loop.model.replies.append(say("done"))
    assert (await loop.run()).signal == "default"
    assert names_of_run(loop) == ["good"]


class Masking:
    """A gate that masks one word, and keeps what it saw."""

    def __init__(self):
        self.saw = []

    async def input(self, text):
        return text

    async def observation(self, text):
        self.saw.append(text)
        return text.replace("Ada", "***")

    async def output(self, text):
        return text


class Refusing:
    """Refuses every call, with a note that names somebody."""

    async def clear(self, tool, _arguments, *, call_id, turn):
        decision = ApprovalDecision(approved=False, by="somebody", note="Ada said no")
        refusal = ToolFailure(type=DENIED, message="the call was not approved: Ada said no")
        return Cleared(refusal=refusal, approval=decision)


@pytest.mark.parametrize(
    ("call", "type"),
    [
        (("Ada", {}), "unknown_tool"),
        (("look", {"Ada": 1}), "invalid_arguments"),
        (("look", {}), "approval_denied"),
    ],
    ids=["unknown", "arguments", "denied"],
)
async def test_a_refusal_passes_the_gate_as_every_result_does(call, type):
    """What the engine says may quote the model, or the person who refused."""
    gate = Masking()
    parameters = {"type": "object", "properties": {}, "additionalProperties": False}
    loop = Loop(
        [ask(call), say("done")], tools={"look": {}}, plans={"look": tool("look", parameters=parameters)}, gates=gate
    )
    loop.toolbox._clearance = Refusing()
    await loop.run()
    (result,) = loop.results(2)
    assert loop.ran == []
    assert f'"type":"{type}"' in result.content
    assert "***" in result.content
    assert "Ada" in gate.saw[0]
    assert "Ada" not in result.content
    (entry,) = loop.entries("tool_result")
    assert "Ada" not in str(entry["error"])


async def test_a_gate_may_end_the_run_over_a_refusal():
    class Strict(Masking):
        async def observation(self, text):
            raise StepError("refused", type="guardrail_violation", signal="guardrail_violation")

    ended = await Loop([ask(("nope", {}))], gates=Strict()).run()
    assert ended.signal == "guardrail_violation"


async def test_the_notice_of_a_repeated_call_is_the_engine_s_alone_and_passes_no_gate():
    gate = Masking()
    twins = ask(("lookup", {}), ("lookup", {}, "c2"))
    await Loop([twins, say("done")], gates=gate, policy=ToolPolicy(dedup_within_turn=True)).run()
    assert len(gate.saw) == 1


async def test_a_delta_that_is_refused_is_told_by_way_of_the_gate():
    def refuse(_delta):
        raise StepError("the public context cannot take Ada", type="context_too_large")

    gate = Masking()
    plans = {"w": tool("w", writes_context=True)}
    loop = Loop([ask(("w", {})), say("done")], tools={"w": {"x": 1}}, plans=plans, gates=gate)
    loop.toolbox._merge = refuse
    await loop.run()
    assert "cannot take ***" in loop.results(2)[0].content
