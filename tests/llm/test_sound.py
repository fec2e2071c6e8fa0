"""Replies are made sound before anything counts, stores or sends them back."""

import math

import pytest

from tuvl.llm.messages import Message, ModelReply, ToolCall
from tuvl.llm.sound import UNREADABLE, sound_reply
from tuvl.tools.arguments import read_arguments


def replied(**fields) -> ModelReply:
    return ModelReply(message=Message(**{"role": "assistant", **fields}))


def called(**fields) -> ToolCall:
    return sound_reply(replied(tool_calls=(ToolCall(**{"id": "c1", "name": "f", **fields}),))).message.tool_calls[0]


def test_a_sound_reply_comes_back_as_it_is():
    reply = replied(content="ça va 👍", tool_calls=(ToolCall(id="functions.f:0", name="f", arguments='{"é": 1}'),))
    assert sound_reply(reply) is reply


def test_half_an_emoji_in_a_text_is_replaced():
    assert sound_reply(replied(content="ok \ud83d.")).message.content == "ok \ufffd."


@pytest.mark.parametrize(
    ("given", "kept"), [("c\n1", ""), ("\ud800", ""), ("\x00", ""), ("functions.f:0", "functions.f:0")]
)
def test_an_id_that_nothing_can_hold_counts_as_none(given, kept):
    assert called(id=given).id == kept


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"a": "\ud83d"}', "lone surrogate"),
        ({"a": "\ud83d"}, "lone surrogate"),
        ({"a": math.nan}, "NaN"),
        ({"a": 10**5000}, "not valid JSON"),
        ({"a": {1, 2}}, "not valid JSON"),
        ("x" * 70_000, "larger than"),
        ({"a": "x" * 70_000}, "larger than"),
        ([1], "not a list"),
    ],
)
def test_unsound_arguments_become_a_text_that_is_refused_for_the_same_reason(arguments, problem):
    text = called(arguments=arguments).arguments
    assert isinstance(text, str)
    text.encode()
    assert problem in read_arguments(text).problem


def test_decoded_arguments_become_the_text_they_would_have_been():
    assert called(arguments={"a": [1, "é"]}).arguments == '{"a":[1,"é"]}'
    assert called(arguments=None).arguments is None


def test_arguments_nested_past_any_limit_are_refused_and_not_a_crash():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert called(arguments={"a": deep}).arguments == UNREADABLE


def test_a_reply_is_the_assistants_whatever_it_says_it_is():
    message = sound_reply(replied(role="tool", content="x", tool_call_id="c1", name="f")).message
    assert message == Message(role="assistant", content="x")
