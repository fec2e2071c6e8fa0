"""What a run says it used, when calls of its models gave no reply."""

import asyncio
import json

import pytest

from tests.engine.agent_support import agent_project
from tests.engine.run_support import Project, Seen
from tests.support.clock import LoopTime
from tuvl.control import RunControl
from tuvl.llm.messages import Price

PRICE = {"input_per_mtok": 100.0, "output_per_mtok": 100.0}


class Silent:
    """A model that never answers; the event tells that it was called."""

    name = "silent"

    def __init__(self, price: Price | None = None) -> None:
        self.called = asyncio.Event()
        self.price = price

    async def complete(self, request):
        self.called.set()
        await asyncio.Event().wait()

    async def aclose(self) -> None:
        pass


def project(root, model: Silent, **agent: object) -> Project:
    made = agent_project(root, **agent)
    made.chat_models["default"] = model
    return made


@pytest.mark.parametrize("price", [None, Price(**PRICE)], ids=["unpriced", "priced"])
async def test_timed_out_calls_are_calls_of_unknown_or_estimated_cost(tmp_path, price):
    made = project(tmp_path, Silent(price), timeout_s=0.01, retry={"attempts": 2, "backoff": 0.001})
    usage = (await made.run()).usage
    assert (usage.llm_calls, usage.estimated) == (2, True)
    assert usage.total_tokens == usage.input_tokens > 0
    assert (usage.cost_usd or 0) == (0 if price is None else price.input_per_mtok * usage.input_tokens / 1e6)
    assert (usage.cost_usd is None) is (price is None)


async def test_a_call_that_the_wall_clock_cuts_off_is_counted(tmp_path):
    model, time = Silent(), LoopTime()
    running = asyncio.create_task(project(tmp_path, model, max_wall_clock_s=60).run())
    await model.called.wait()
    time.advance(60)
    result = await running
    assert result.signal == "budget_exceeded"
    assert (result.usage.llm_calls, result.usage.cost_usd, result.usage.estimated) == (1, None, True)


async def test_a_call_that_an_abort_cuts_off_is_counted(tmp_path):
    control, model = RunControl(), Silent()
    running = asyncio.create_task(project(tmp_path, model).run(control=control))
    await model.called.wait()
    control.abort("enough")
    result = await running
    assert result.status == "aborted"
    assert (result.usage.llm_calls, result.usage.cost_usd, result.usage.estimated) == (1, None, True)


async def test_a_budget_sees_what_lost_calls_may_have_used(tmp_path):
    """Two agents, the second of which has nothing left to spend."""
    block = {"model": "default", "prompt": "Say " + "word " * 200, "timeout_s": 0.01}
    steps = [
        {"id": name, "kind": "Agent", "mode": "completion", "agent": block, "routes": {"timeout": next_}}
        for name, next_ in (("one", "two"), ("two", "END"))
    ]
    made = Project(tmp_path).model("unused")
    made.workflow("\n".join(f"- {json.dumps(step)}" for step in steps), limits={"max_tokens": 200})
    made.chat_models["default"] = Silent()
    seen = Seen()
    result = await made.run(sinks=[seen])
    assert result.signal == "budget_exceeded"
    assert result.usage.llm_calls == 1
