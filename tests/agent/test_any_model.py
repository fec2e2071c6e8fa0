"""Whatever a model replies, the run ends on one declared signal, within its bounds, with a sound conversation."""

import asyncio

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agent.loop_support import Loop, Model, tool
from tests.support.chat_rules import faults, pairing_faults
from tests.support.garbage import replies
from tuvl.agent.compaction import Compactor
from tuvl.agent.conclude import Conclusion
from tuvl.agent.history import Preparation
from tuvl.clock import SystemClock
from tuvl.llm.messages import ModelRequest
from tuvl.llm.retrying import RetryingModel
from tuvl.plan.model import CompactionPlan, ConcludePlan, RetryPlan
from tuvl.spec.signals import RESERVED_EXITS
from tuvl.tools.toolbox import ToolPolicy

ENUM = ("done", "given_up")
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}


def broken(**_arguments):
    raise RuntimeError("no stock \ud800")


async def late(**_arguments):
    await asyncio.sleep(0)
    return {"late": True}


class GarbageModel(Model):
    """Gives drawn replies until there are no more, then the same last one; keeps what is wrong with each request."""

    def __init__(self, drawn: list) -> None:
        super().__init__(replies=[])
        self.drawn = drawn
        self.faults: list[str] = []
        self.asked = 0

    async def complete(self, request: ModelRequest):
        self.faults += faults(request)
        reply = self.drawn[min(self.asked, len(self.drawn) - 1)]
        self.asked += 1
        if isinstance(reply, Exception):
            raise reply
        return reply


BOUNDS = st.fixed_dictionaries(
    {"max_iterations": st.integers(1, 5), "answer_retries": st.integers(0, 2)},
    optional={
        "token_budget": st.integers(1, 3000),
        "max_tool_calls": st.integers(1, 6),
        "max_calls_per_turn": st.integers(1, 3),
        "max_consecutive_tool_failures": st.integers(1, 3),
        "max_repeated_calls": st.integers(1, 3),
        "budget_check": st.sampled_from(["turn_start", "after_call"]),
    },
)

POLICIES = st.builds(
    ToolPolicy,
    on_error=st.sampled_from(["report", "fail"]),
    arg_validation=st.sampled_from(["strict", "lenient", "none"]),
    dedup_within_turn=st.booleans(),
    concurrency=st.integers(1, 3),
)


async def summarize(_messages) -> str:
    return "what happened so far"


def preparation(bounds: dict, *, long: bool) -> Preparation:
    """Return nothing to do, or a compaction that is always due and a notice to finish."""
    if not long:
        return Preparation()
    plan = CompactionPlan(max_tokens=60_000, trigger_percent=0.001, target_percent=0.001, recent_tail=1)
    conclusion = Conclusion(plan=ConcludePlan(), max_iterations=bounds["max_iterations"], clock=SystemClock())
    return Preparation(compactor=Compactor(plan=plan, summarize=summarize), conclusion=conclusion)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    drawn=st.lists(replies(), min_size=1, max_size=5),
    bounds=BOUNDS,
    policy=POLICIES,
    enum=st.sampled_from([(), ENUM]),
    long=st.booleans(),
)
def test_whatever_a_model_replies_the_run_ends_on_a_declared_signal_within_its_bounds(
    drawn, bounds, policy, enum, long
):
    model = GarbageModel(drawn)
    loop = Loop(
        RetryingModel(model, RetryPlan(), timeout_s=None, clock=SystemClock()),
        tools={"read": {"n": 1}, "write": {}, "broken": broken, "late": late},
        plans={
            "read": tool("read", effects="read", parameters=NUMBER, max_calls=3),
            "late": tool("late", effects="read"),
        },
        enum=enum,
        policy=policy,
        preparation=preparation(bounds, long=long),
        **bounds,
    )
    ended = asyncio.run(loop.run())

    assert ended.signal in {*(enum or ("default",)), *RESERVED_EXITS}
    assert (ended.reason is not None) == (ended.signal in RESERVED_EXITS)
    assert not model.faults
    assert_within(bounds, loop, model)
    assert_paired(loop)


def assert_within(bounds: dict, loop: Loop, model: GarbageModel) -> None:
    """Every bound held: in calls of the model, in calls of tools, in what was counted."""
    recoveries = 2 if loop.runner.preparation.compactor else 1
    assert model.asked <= bounds["max_iterations"] * recoveries
    assert loop.runner.turn <= bounds["max_iterations"]
    assert len(loop.ran) <= bounds.get("max_tool_calls", 10_000)
    assert sum(name == "read" for name, _ in loop.ran) <= 3
    assert loop.meter.total_tokens >= 0
    turns = [entry["iteration"] for entry in loop.entries("tool_call")]
    ran = [entry["iteration"] for entry in loop.entries("tool_result") if "unanswered" not in entry]
    most = bounds.get("max_calls_per_turn", 10_000)
    assert all(ran.count(turn) <= most for turn in set(turns))


def assert_paired(loop: Loop) -> None:
    """Every call in the trace has one result, and the conversation is sound up to a last turn that was cut off."""
    asked = [entry["call_id"] for entry in loop.entries("tool_call")]
    answered = [entry["call_id"] for entry in loop.entries("tool_result")]
    assert sorted(asked) == sorted(answered)
    assert len(set(asked)) == len(asked)
    assert len(loop.entries("outcome")) == 1
    messages = loop.runner.history.messages
    if any(entry.get("unanswered") for entry in loop.entries("tool_result")) or _failed_turn(loop):
        messages = messages[: max(index for index, message in enumerate(messages) if message.tool_calls)]
    assert not pairing_faults(messages)


def _failed_turn(loop: Loop) -> bool:
    """Whether the last turn's results stayed out of the conversation, because one of its tools ended the run."""
    outcome = loop.entries("outcome")[0]
    return outcome.get("error_type") == "tool_error"
