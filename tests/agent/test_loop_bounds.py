"""Every bound of the loop trips where it says, and not one step earlier or later."""

import asyncio
import math

import pytest

from tests.agent.loop_support import Loop, Model, ask, boom, say, tool
from tests.support.clock import LoopTime
from tuvl.errors import StepError
from tuvl.llm.messages import ModelReply, Price, Usage
from tuvl.plan.model import RunLimits
from tuvl.tools.toolbox import ToolPolicy

PRICE = Price(input_per_mtok=1_000_000, output_per_mtok=1_000_000)  # one dollar a token


async def test_one_iteration_is_enough_for_a_model_that_answers_at_once():
    loop = Loop([say("done")], max_iterations=1)
    ended = await loop.run()
    assert (ended.signal, ended.writes, loop.runner.turn) == ("default", {"result": "done"}, 1)


async def test_the_last_permitted_turn_still_runs_its_tool_and_then_ends_on_max_iterations():
    loop = Loop([ask(("lookup", {}))], max_iterations=1)
    ended = await loop.run()
    assert ended.signal == "max_iterations"
    assert loop.ran == [("lookup", {})]
    assert len(loop.model.requests) == 1
    assert loop.entries("tool_result")[0]["content"] == '{"found":1}'
    assert ended.reason.detail == {"limit": "max_iterations", "value": 1}


async def test_an_answer_in_the_last_permitted_turn_counts():
    """E04."""
    loop = Loop([ask(("lookup", {})), say("done")], max_iterations=2)
    assert (await loop.run()).signal == "default"


async def test_usage_that_equals_the_token_budget_stops_the_next_call():
    loop = Loop([ask(("lookup", {}), tokens=100)], token_budget=100)
    ended = await loop.run()
    assert ended.signal == "budget_exceeded"
    assert ended.reason.detail == {"limit": "token_budget", "bound": 100, "used": 100}


async def test_usage_below_the_token_budget_goes_on():
    loop = Loop([ask(("lookup", {}), tokens=99), say("done")], token_budget=100)
    assert (await loop.run()).signal == "default"


async def test_turn_that_overruns_the_budget_still_runs_its_tools():
    loop = Loop([ask(("lookup", {}), tokens=500)], token_budget=100)
    assert (await loop.run()).signal == "budget_exceeded"
    assert loop.ran == [("lookup", {})]


async def test_answer_of_the_overrunning_turn_is_delivered():
    loop = Loop([say("done", tokens=500)], token_budget=100)
    assert (await loop.run()).signal == "default"


async def test_budget_check_after_call_stops_before_the_tools_run():
    loop = Loop([ask(("lookup", {}), tokens=500)], token_budget=100, budget_check="after_call")
    assert (await loop.run()).signal == "budget_exceeded"
    assert loop.ran == []
    assert loop.entries("assistant")[0]["usage"]["total_tokens"] == 500


async def test_missing_usage_is_estimated_flagged_and_still_trips_the_cap():
    loop = Loop([ask(("lookup", {}), tokens=None, text="x" * 4000)], token_budget=900)
    ended = await loop.run()
    assert ended.signal == "budget_exceeded"
    assert loop.meter.estimated
    assert loop.meter.total_tokens >= 1000


@pytest.mark.parametrize("bad", [-5, math.nan, -math.inf, math.inf, "many", None, True, 10**30])
async def test_usage_that_is_no_count_is_estimated_and_never_lowers_the_total(bad):
    odd = ModelReply(
        message=ask(("lookup", {})).message,
        finish_reason="tool_calls",
        usage=Usage(input_tokens=bad, output_tokens=7, total_tokens=bad),
    )
    loop = Loop([ask(("lookup", {}), tokens=50), odd, say("done", tokens=1)])
    await loop.run()
    assert loop.meter.output_tokens == 7
    assert loop.meter.input_tokens > 50 + 1
    assert loop.meter.total_tokens == loop.meter.input_tokens + loop.meter.output_tokens
    assert loop.meter.estimated


async def test_missing_total_is_input_plus_output():
    """E01."""
    odd = ModelReply(message=say("done").message, usage=Usage(input_tokens=5, output_tokens=3, total_tokens=0))
    loop = Loop([odd])
    await loop.run()
    assert loop.meter.total_tokens == 8


async def test_tokens_are_reported_before_cost_when_both_are_crossed():
    model = Model([ask(("lookup", {}), tokens=100)], price=PRICE)
    loop = Loop(model, token_budget=100, cost_budget_usd=1.0)
    assert (await loop.run()).reason.detail["limit"] == "token_budget"


async def test_cost_budget_trips_on_dollars():
    model = Model([ask(("lookup", {}), tokens=100)], price=PRICE)
    ended = await Loop(model, cost_budget_usd=99.5).run()
    assert ended.reason.detail == {"limit": "cost_budget_usd", "bound": 99.5, "used": 100.0}


async def test_cost_bound_with_an_unpriced_model_is_refused_before_the_first_call():
    loop = Loop(Model([]), cost_budget_usd=1.0)
    ended = await loop.run()
    assert (ended.signal, ended.reason.type) == ("error", "unpriced_model")
    assert "test/model" in ended.reason.message


async def test_unknown_price_is_unknown_cost_and_not_zero():
    """E08."""
    loop = Loop([say("done")])
    await loop.run()
    assert loop.meter.cost_usd is None


@pytest.mark.parametrize(
    ("limits", "name"),
    [(RunLimits(max_tokens=10), "limits.max_tokens"), (RunLimits(max_cost_usd=10), "limits.max_cost_usd")],
)
async def test_bounds_of_the_run_are_budgets_of_the_agent(limits, name):
    loop = Loop(Model([ask(("lookup", {}), tokens=10)], price=PRICE), limits=limits)
    assert (await loop.run()).reason.detail["limit"] == name


async def test_wall_clock_cancels_the_model_call_in_flight():
    cancelled, time = asyncio.Event(), LoopTime()

    async def hang(_request):
        time.advance(60)
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    ended = await Loop([hang], max_wall_clock_s=60).run()
    assert (ended.signal, ended.reason.detail["limit"]) == ("budget_exceeded", "max_wall_clock_s")
    assert cancelled.is_set()


async def test_wall_clock_cancels_the_tool_in_flight():
    time = LoopTime()

    async def hang():
        time.advance(60)
        await asyncio.Event().wait()

    policy = ToolPolicy(default_timeout_s=600)
    loop = Loop([ask(("slow", {}), ("slow", {}, "c9"))], tools={"slow": hang}, max_wall_clock_s=60, policy=policy)
    assert (await loop.run()).signal == "budget_exceeded"
    assert [entry["call_id"] for entry in loop.entries("tool_result")] == ["c1", "c9"]


async def test_time_spent_paused_counts_against_the_wall_clock():
    loop = Loop([], max_wall_clock_s=0.05)
    loop.control.pause()
    ended = await loop.run()
    assert (ended.signal, loop.model.requests) == ("budget_exceeded", [])


async def test_one_call_too_many_in_a_turn_runs_none_and_keeps_turn_and_usage():
    """E06."""
    loop = Loop([ask(*[("lookup", {}, f"c{n}") for n in range(11)], tokens=30)], max_calls_per_turn=10)
    ended = await loop.run()
    assert (ended.signal, ended.reason.type) == ("error", "calls_per_turn")
    assert loop.ran == []
    assert len(loop.entries("tool_call")) == len(loop.entries("tool_result")) == 11
    assert loop.meter.total_tokens == 30


async def test_exactly_the_permitted_calls_of_a_turn_all_run():
    loop = Loop([ask(*[("lookup", {}, f"c{n}") for n in range(10)]), say("done")], max_calls_per_turn=10)
    assert (await loop.run()).signal == "default"
    assert len(loop.ran) == 10


async def test_total_calls_count_unknown_and_duplicate_ones():
    replies = [ask(("nope", {}), ("lookup", {}), ("lookup", {}, "c3")), ask(("lookup", {}, "c4"))]
    loop = Loop(replies, max_tool_calls=3, policy=ToolPolicy(dedup_within_turn=True))
    ended = await loop.run()
    assert (ended.signal, ended.reason.detail["limit"]) == ("budget_exceeded", "max_tool_calls")
    assert len(loop.ran) == 1


async def test_a_tool_past_its_own_max_calls_is_refused_and_the_model_reads_it():
    replies = [ask(("lookup", {})), ask(("lookup", {}, "c2")), say("done")]
    loop = Loop(replies, plans={"lookup": tool("lookup", max_calls=1)})
    assert (await loop.run()).signal == "default"
    assert "may be called 1 times only" in loop.results(3)[1].content
    assert len(loop.ran) == 1


async def test_turns_that_fail_whole_stop_at_exactly_the_bound():
    loop = Loop([ask(("bad", {}))] * 3, tools={"bad": boom}, max_consecutive_tool_failures=3)
    ended = await loop.run()
    assert (ended.reason.type, loop.runner.turn) == ("tool_failures", 3)
    assert len(loop.entries("tool_result")) == 3


async def test_one_success_beside_failures_resets_the_streak():
    mixed = ask(("bad", {}), ("good", {}, "c2"))
    replies = [ask(("bad", {})), mixed, ask(("bad", {})), say("done")]
    loop = Loop(replies, tools={"bad": boom, "good": {}}, max_consecutive_tool_failures=2)
    assert (await loop.run()).signal == "default"


async def test_a_duplicate_does_not_save_a_failing_turn():
    loop = Loop(
        [ask(("bad", {}), ("bad", {}, "c2"))],
        tools={"bad": boom},
        max_consecutive_tool_failures=1,
        policy=ToolPolicy(dedup_within_turn=True),
    )
    assert (await loop.run()).reason.type == "tool_failures"


@pytest.mark.parametrize("call", [("nope", {}), ("lookup", '{"x":')])
async def test_unknown_tools_and_bad_arguments_count_as_failures(call):
    loop = Loop([ask(call)], max_consecutive_tool_failures=1)
    assert (await loop.run()).reason.type == "tool_failures"


async def test_same_call_with_same_result_stops_at_the_bound():
    """E07."""
    loop = Loop(
        [ask(("lookup", {"p": "/"}, f"c{n}")) for n in range(3)],
        max_repeated_calls=3,
        tools={"lookup": lambda p: {"a": 1}},
    )
    ended = await loop.run()
    assert (ended.reason.type, loop.runner.turn) == ("repeated_calls", 3)


@pytest.mark.parametrize("bound", [1, 2])
async def test_the_number_of_repeated_calls_is_the_call_that_ends_the_agent(bound):
    loop = Loop([ask(("lookup", {}, f"c{n}")) for n in range(3)], max_repeated_calls=bound)
    ended = await loop.run()
    assert (ended.reason.type, loop.runner.turn) == ("repeated_calls", bound)
    assert ended.reason.message == (
        "tool 'lookup' was called with the same arguments and gave the same result:"
        f" max_repeated_calls: {bound} reached"
    )


async def test_polling_with_changing_results_is_not_a_repeat():
    counter = iter(range(10))
    loop = Loop(
        [ask(("poll", {}, f"c{n}")) for n in range(4)] + [say("done")],
        tools={"poll": lambda: {"n": next(counter)}},
        max_repeated_calls=2,
    )
    assert (await loop.run()).signal == "default"


async def test_an_outside_quota_is_asked_once_a_reply_before_any_call_runs():
    class Quota:
        def __init__(self):
            self.asked = []

        async def reserve(self, calls):
            self.asked.append(calls)
            if sum(self.asked) > 3:
                raise StepError("the quota of this tenant is used up", type="reservation")

    loop = Loop([ask(("lookup", {}), ("lookup", {}, "c2")), ask(("lookup", {}, "c3"), ("lookup", {}, "c4"))])
    quota = loop.runner.bounds._reservation = Quota()
    ended = await loop.run()
    assert (ended.reason.type, quota.asked, len(loop.ran)) == ("reservation", [2, 2], 2)
