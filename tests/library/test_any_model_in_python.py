"""The promise of the loop, kept through `AgentLoop`: any reply ends on a declared signal, and leaks nothing."""

import asyncio

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.chat_rules import faults, pairing_faults
from tests.support.garbage import replies
from tuvl import AgentLoop, Limits, ToolPolicy, tool
from tuvl.spec.signals import RESERVED_EXITS

OUTCOMES = ("done", "given_up")


@tool(effects="read")
def read(n: int = 0) -> int:
    """Read."""
    return n


@tool
async def write() -> None:
    """Write."""


def broken() -> None:
    """Break."""
    raise RuntimeError("no stock \ud800")


class Drawn:
    """Gives the drawn replies, the last one for ever, and keeps what is wrong with the requests."""

    name = "drawn"
    price = None

    def __init__(self, drawn):
        self.drawn = drawn
        self.asked = 0
        self.faults = []

    async def complete(self, request):
        self.faults += faults(request)
        reply = self.drawn[min(self.asked, len(self.drawn) - 1)]
        self.asked += 1
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def aclose(self):
        pass


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    drawn=st.lists(replies() | st.just(ValueError("odd")), min_size=1, max_size=4),
    most=st.integers(1, 4),
    stream=st.booleans(),
    outcomes=st.sampled_from([(), OUTCOMES]),
    concurrency=st.integers(1, 3),
)
def test_whatever_a_model_replies_a_run_from_python_ends_as_declared(drawn, most, stream, outcomes, concurrency):
    model = Drawn(drawn)
    loop = AgentLoop(
        model=model,
        tools=[read, write, broken],
        outcomes=outcomes,
        stream=stream,
        limits=Limits(max_iterations=most, answer_retries=1),
        policy=ToolPolicy(concurrency=concurrency),
    )
    result = asyncio.run(run_alone(loop))
    assert result.signal in {*(outcomes or ("default",)), *RESERVED_EXITS}
    assert result.ok == (result.signal not in RESERVED_EXITS)
    assert model.asked <= most
    assert not model.faults
    assert not pairing_faults(result.messages)
    asked = [entry["call_id"] for entry in result.trace if entry["type"] == "tool_call"]
    assert sorted(asked) == sorted(entry["call_id"] for entry in result.trace if entry["type"] == "tool_result")


async def run_alone(loop):
    result = await loop.run("go")
    assert asyncio.all_tasks() == {asyncio.current_task()}, "a task outlived the run"
    return result
