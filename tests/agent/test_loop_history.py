"""A long conversation: the notice to finish, compaction, and the limits of one request."""

from typing import cast

import pytest

from tests.agent.loop_support import Loop, Model, ask, say
from tuvl.agent.compaction import Calibration, Compactor, estimates
from tuvl.agent.conclude import Conclusion
from tuvl.agent.groups import grouped
from tuvl.agent.history import Preparation
from tuvl.agent.ledger import Ledger
from tuvl.agent.limits import Bounds
from tuvl.agent.summary import Summarizer
from tuvl.clock import SystemClock
from tuvl.errors import ModelError, StepError
from tuvl.llm.messages import Message, ToolCall, Usage
from tuvl.plan.model import CompactionPlan, ConcludePlan, ContextLimits


def concluding(max_iterations, **plan):
    return Preparation(
        conclusion=Conclusion(plan=ConcludePlan(**plan), max_iterations=max_iterations, clock=SystemClock())
    )


def notices(loop, request):
    return sum("limit of this run is near" in (message.content or "") for message in loop.sent(request))


async def test_notice_comes_in_the_last_request_only():
    loop = Loop(
        [ask(("lookup", {})), ask(("lookup", {}, "c2")), say("done")],
        max_iterations=3,
        preparation=concluding(3, margin=1),
    )
    await loop.run()
    assert [notices(loop, n) for n in (1, 2, 3)] == [0, 0, 1]


async def test_margin_zero_never_gives_notice():
    loop = Loop([say("done")], max_iterations=1, preparation=concluding(1, margin=0))
    await loop.run()
    assert notices(loop, 1) == 0


async def test_two_reasons_give_one_notice():
    loop = Loop(
        [ask(("lookup", {})), ask(("lookup", {}, "c2")), say("done")],
        max_iterations=3,
        preparation=concluding(3, margin=2, deadline_s=1e-9),
    )
    await loop.run()
    assert notices(loop, 3) == 1


async def test_text_equal_to_the_notice_is_not_taken_for_it():
    preparation = concluding(8, margin=1)
    loop = Loop([say("done")], preparation=preparation)
    await loop.runner.run("system", preparation.conclusion.plan.notice)
    assert preparation.conclusion.told is False


async def test_a_blank_answer_after_the_notice_is_an_empty_response():
    loop = Loop([say("")], max_iterations=1, preparation=concluding(1))
    assert (await loop.run()).reason.type == "empty_response"


async def test_last_turn_without_tools_offers_none_and_runs_none():
    loop = Loop(
        [ask(("lookup", {})), ask(("lookup", {}, "c2"))],
        max_iterations=2,
        preparation=concluding(2, offer_tools=False),
    )
    ended = await loop.run()
    assert [len(request.tools) for request in loop.model.requests] == [1, 0]
    assert ended.signal == "max_iterations"
    assert len(loop.ran) == 1
    assert "offers no tools" in loop.entries("tool_result")[1]["content"]


def turn(n, size=40, name="lookup"):
    return [
        Message(role="assistant", tool_calls=(ToolCall(id=f"c{n}", name=name, arguments="{}"),)),
        Message(role="tool", tool_call_id=f"c{n}", content="x" * size),
    ]


def history(turns, size=40):
    return [Message(role="system", content="s"), Message(role="user", content="u")] + [
        message for n in range(turns) for message in turn(n, size)
    ]


class Summaries:
    def __init__(self, text="short"):
        self.text = text
        self.seen = []

    async def __call__(self, messages):
        self.seen.append(list(messages))
        return self.text


def compactor(summaries, **plan):
    return Compactor(plan=CompactionPlan(**plan), summarize=summaries)


async def compacted(subject, messages, *, force=False):
    return await subject.compact(messages, estimates(messages), force=force)


async def test_one_token_below_the_trigger_is_untouched_and_at_the_trigger_it_compacts():
    messages = history(20)
    total = sum(estimates(messages))
    summaries = Summaries()
    below = compactor(summaries, max_tokens=total + 1, trigger_percent=100, recent_tail=2)
    assert await compacted(below, messages) is None
    at = compactor(summaries, max_tokens=total, trigger_percent=100, recent_tail=2)
    shorter = await compacted(at, messages)
    assert sum(estimates(shorter)) < total
    assert len(summaries.seen) == 1


async def test_groups_are_never_torn_and_opening_and_tail_stay():
    messages = history(20)
    shorter = await compacted(compactor(Summaries(), max_tokens=300, recent_tail=3), messages)
    assert shorter[:2] == messages[:2]
    assert shorter[-4:] == messages[-4:]
    asked = [call.id for message in shorter for call in message.tool_calls]
    answered = [message.tool_call_id for message in shorter if message.role == "tool"]
    assert asked == answered


async def test_a_second_compaction_folds_the_first_summary_in():
    summaries = Summaries()
    subject = compactor(summaries, max_tokens=300, recent_tail=2)
    first = await compacted(subject, history(20))
    second = await compacted(subject, [*first, *(m for n in range(20, 40) for m in turn(n))])
    assert sum("Summary of the earlier turns" in (message.content or "") for message in second) == 1
    assert "Summary of the earlier turns" in summaries.seen[1][0].content


async def test_a_preserved_tools_calls_stay():
    messages = history(3) + turn(9, name="ledger") + history(20)[2:]
    shorter = await compacted(
        compactor(Summaries(), max_tokens=300, recent_tail=2, preserve=frozenset({"ledger"})), messages
    )
    assert [call.name for message in shorter for call in message.tool_calls].count("ledger") == 1


async def test_with_nothing_to_drop_the_summariser_is_not_called():
    summaries = Summaries()
    assert await compacted(compactor(summaries, max_tokens=400, recent_tail=50), history(4), force=True) is None
    assert summaries.seen == []


async def test_what_must_stay_and_does_not_fit_is_told_before_the_request():
    with pytest.raises(StepError) as error:
        await compacted(compactor(Summaries(), max_tokens=50, recent_tail=50), history(4))
    assert error.value.type == "context_overflow"


async def test_a_failing_summariser_fails_before_the_main_call():
    async def fail(_messages):
        raise ModelError("down", type="server_error", retryable=True)

    loop = Loop(
        [ask(("lookup", {}), text="x" * 4000), ask(("lookup", {}, "c2"))],
        preparation=Preparation(compactor=compactor(fail, max_tokens=1200, recent_tail=1, calibrate=False)),
    )
    ended = await loop.run()
    assert (ended.signal, ended.reason.type) == ("error", "server_error")
    assert len(loop.model.requests) == 2


OVERFLOW = ModelError("too long", type="context_overflow", retryable=False)


async def test_prompt_too_long_without_compaction_is_the_error_exit():
    assert (await Loop([OVERFLOW]).run()).reason.type == "context_overflow"


async def test_prompt_too_long_with_compaction_is_compacted_once_and_retried_once():
    replies = [ask(("lookup", {}, f"c{n}")) for n in range(6)] + [OVERFLOW, say("done")]
    loop = Loop(
        Model(replies),
        preparation=Preparation(compactor=compactor(Summaries(), max_tokens=10_000, recent_tail=2, target_percent=40)),
    )
    assert (await loop.run()).signal == "default"
    assert len(loop.sent(8)) < len(loop.sent(7))


async def test_prompt_too_long_twice_is_the_second_error():
    replies = [ask(("lookup", {}, f"c{n}")) for n in range(6)] + [OVERFLOW, OVERFLOW]
    loop = Loop(
        Model(replies),
        preparation=Preparation(compactor=compactor(Summaries(), max_tokens=10_000, recent_tail=2, target_percent=40)),
    )
    assert (await loop.run()).reason.type == "context_overflow"
    assert len(loop.model.requests) == 8


def test_calibration_learns_within_bounds_and_only_from_real_usage():
    calibration = Calibration()
    calibration.observe(100, Usage(input_tokens=0))
    calibration.observe(100, Usage(input_tokens=500, estimated=True))
    assert calibration.factor == 1.0
    calibration.observe(100, Usage(input_tokens=1_000_000))
    assert calibration.factor == 2.5


def test_grouping_keeps_every_message_once():
    messages = [*history(3)[2:], Message(role="user", content="x")]
    groups = grouped(messages, estimates(messages))
    assert [message for group in groups for message in group.messages] == messages
    assert len(groups) == 4
    assert grouped([], []) == []


@pytest.mark.parametrize(
    ("limits", "field"),
    [(ContextLimits(max_messages=3), "max_messages"), (ContextLimits(max_bytes=60), "max_bytes")],
)
async def test_a_request_past_its_limits_is_refused_before_it_is_sent(limits, field):
    loop = Loop([ask(("lookup", {}), text="y" * 60)], preparation=Preparation(limits=limits))
    ended = await loop.run()
    assert (ended.reason.type, ended.reason.detail["limit"]) == ("context_limit", f"context_limits.{field}")
    assert len(loop.model.requests) == 1


async def test_a_summary_that_fails_is_told_as_the_summary_with_its_model():
    down = ModelError("down", type="server_error", retryable=True)
    summarizer = Summarizer(
        model=Model([down], name="short"), bounds=cast(Bounds, None), ledger=cast(Ledger, None), clock=SystemClock()
    )
    with pytest.raises(ModelError) as caught:
        await summarizer([Message(role="user", content="x")])
    assert caught.value.message == "the summary of earlier turns, by model 'short', failed: down"
    assert caught.value.type == "server_error"
