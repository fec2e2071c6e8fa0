"""Scripted models: order, rules, failures, and scripts that cannot be used."""

import asyncio

import pytest

from tests.support.clock import SkippingClock
from tuvl.errors import ConfigError, ModelError
from tuvl.llm.messages import Message, ModelRequest, ToolCall, Usage
from tuvl.llm.meter import Meter
from tuvl.llm.script import parse_script
from tuvl.llm.scripted import ScriptedModel
from tuvl.testing.model import call, calls, failing, reply

USER = Message(role="user", content="hello there")


def asking(*messages) -> ModelRequest:
    return ModelRequest(messages=list(messages) or [USER])


def script(*entries) -> ScriptedModel:
    return ScriptedModel(parse_script(list(entries), where="test script"), name="default", script="s.yaml")


async def test_replies_come_in_order():
    model = script("one", {"text": "two"}, {"json": {"outcome": "done", "n": 1}})
    texts = [(await model.complete(asking())).message.content for _ in range(3)]
    assert texts == ["one", "two", '{"outcome":"done","n":1}']


async def test_running_out_names_script_and_call_and_is_not_retried():
    model = script("one")
    await model.complete(asking())
    with pytest.raises(ModelError, match=r"'s\.yaml' has no reply for model call 2") as caught:
        await model.complete(asking())
    assert (caught.value.type, caught.value.retryable) == ("script_exhausted", False)


async def test_everything_a_reply_may_say_is_said():
    model = script(
        {
            "text": "Looking.",
            "tool_calls": [
                {"name": "lookup", "arguments": {"id": 7}},
                {"name": "broken", "arguments": '{"id": ', "id": "mine"},
                {"name": "bare"},
            ],
            "usage": {"input_tokens": 10, "output_tokens": 2, "cached_input_tokens": 4},
            "finish_reason": "length",
        }
    )
    made = await model.complete(asking())
    assert made.message.content == "Looking."
    assert made.message.tool_calls == (
        ToolCall(id="call_1_1", name="lookup", arguments='{"id":7}'),
        ToolCall(id="mine", name="broken", arguments='{"id": '),
        ToolCall(id="call_1_3", name="bare"),
    )
    assert made.usage == Usage(input_tokens=10, output_tokens=2, total_tokens=12, cached_input_tokens=4)
    assert made.finish_reason == "length"


async def test_rule_answers_whenever_it_fits_and_other_replies_take_their_turn():
    model = script(
        {"when": "refund", "text": "about refunds"},
        {"when": {"tool": "lookup", "contains": "late"}, "text": "it is late"},
        {"when": {"role": "system"}, "text": "steered"},
        "first",
        "second",
    )
    tool_call = Message(role="assistant", tool_calls=(ToolCall(id="c1", name="lookup"),))
    late = Message(role="tool", tool_call_id="c1", content="it is late")

    async def answer(*messages):
        return (await model.complete(asking(*messages))).message.content

    assert await answer() == "first"
    assert await answer(Message(role="user", content="a refund, please")) == "about refunds"
    assert await answer(USER, tool_call, late) == "it is late"
    assert await answer(USER, Message(role="system", content="be brief")) == "steered"
    assert await answer(Message(role="user", content="refund again")) == "about refunds"
    assert await answer(USER, tool_call, Message(role="tool", tool_call_id="c1", content="on time")) == "second"


async def test_delay_is_slept_on_the_given_clock():
    clock = SkippingClock()
    model = ScriptedModel([reply("slow", delay_s=2.5)], clock=clock)
    await model.complete(asking())
    assert clock.slept == [2.5]


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        ({"type": "rate_limited", "status": 429, "retry_after_s": 3}, True),
        ({"type": "timeout"}, True),
        ({"type": "authentication", "status": 401}, False),
        ({"type": "server_error", "retryable": False}, False),
        ({}, True),
    ],
)
async def test_failures_are_as_retryable_as_real_ones(error, retryable):
    with pytest.raises(ModelError) as caught:
        await script({"error": error}).complete(asking())
    assert caught.value.retryable is retryable
    assert caught.value.type == error.get("type", "server_error")
    assert caught.value.status == error.get("status")
    assert caught.value.retry_after_s == error.get("retry_after_s")


async def test_missing_usage_is_estimated_and_the_same_every_time():
    def total() -> tuple[int, bool]:
        meter = Meter()
        meter.count_reply(asking(), made, None)
        return meter.total_tokens, meter.estimated

    made = await script("one").complete(asking())
    assert total() == total()
    assert total()[0] > 0
    assert total()[1]


async def test_two_models_of_one_script_keep_their_own_place():
    """Edge case 92."""
    replies = parse_script([str(number) for number in range(20)], where="shared")
    models = [ScriptedModel(replies) for _ in range(10)]

    async def play(model):
        texts = []
        for _ in range(20):
            texts.append((await model.complete(asking())).message.content)
            await asyncio.sleep(0)
        return texts

    assert all(texts == [str(n) for n in range(20)] for texts in await asyncio.gather(*map(play, models)))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("text", "no list of replies"),
        ({"reply": []}, "no list of replies"),
        ([{"txt": "x"}], "did you mean 'text'"),
        (["ok", {"text": 3}], "reply 2: 'text' is not text"),
        ([{"text": "a", "json": 1}], "both 'text' and 'json'"),
        ([{"tool_calls": {"name": "x"}}], "'tool_calls' is not a list"),
        ([{"tool_calls": [{"nam": "x"}]}], "did you mean 'name'"),
        ([{"delay_s": "long"}], "'delay_s' is not a number"),
        ([{"finish_reason": "done"}], "'finish_reason' is not one of"),
        ([{"when": {"role": "robot"}, "text": "x"}], "'role' is not one of"),
        ([{"error": {"retryable": "yes"}}], "'retryable' is not true or false"),
        ([{"usage": {"tokens": 1}}], "unknown field 'tokens'"),
        ([7], "reply 1 is not a mapping"),
    ],
)
def test_script_that_cannot_be_used_is_named_with_place(data, says):
    with pytest.raises(ConfigError) as caught:
        parse_script(data, where="s.yaml")
    assert says in str(caught.value)
    assert str(caught.value).startswith("s.yaml")


async def test_test_helpers_say_what_they_are_told():
    model = ScriptedModel(
        [
            reply({"outcome": "done"}, tokens=5),
            calls("lookup", {"id": 7}),
            calls(call("a", '{"x'), None, call("b", {"y": 1})),
            failing("rate_limited", retry_after_s=2.0),
        ]
    )
    first = await model.complete(asking())
    assert (first.message.content, first.usage.total_tokens) == ('{"outcome":"done"}', 5)
    (made,) = (await model.complete(asking())).message.tool_calls
    assert (made.name, made.arguments) == ("lookup", '{"id":7}')
    assert [one.arguments for one in (await model.complete(asking())).message.tool_calls] == ['{"x', '{"y":1}']
    with pytest.raises(ModelError) as caught:
        await model.complete(asking())
    assert (caught.value.type, caught.value.retry_after_s) == ("rate_limited", 2.0)
