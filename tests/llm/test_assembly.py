"""Fragments of a streamed reply, put together."""

import json

import pytest

from tests.support.openai_server import chunk
from tuvl.errors import ModelError
from tuvl.llm.assembly import ReplyAssembly
from tuvl.llm.messages import CallNamed, TextPiece


def assembled(*deltas, finish="stop"):
    """The reply these deltas make, and the pieces told on the way."""
    assembly = ReplyAssembly("m")
    pieces = []
    for made in (*(chunk(delta) for delta in deltas), chunk(finish=finish)):
        pieces += assembly.take(made)
    pieces += assembly.rest()
    return assembly.reply(), pieces


def calls(*fragments):
    """The calls these fragments make; each is announced once, and nothing else is told."""
    reply, pieces = assembled(*({"tool_calls": [fragment]} for fragment in fragments), finish="tool_calls")
    made = reply.message.tool_calls
    assert sorted(piece.name for piece in pieces) == sorted(call.name for call in made)
    return [(call.name, call.arguments) for call in made]


def part(arguments=None, *, index=None, id=None, name=None, **fields):
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {
        **{key: value for key, value in (("index", index), ("id", id)) if value is not None},
        "function": function,
        **fields,
    }


def test_fragments_of_two_interleaved_calls_are_joined_by_index():
    """F01, edge case 83."""
    made = calls(
        part('{"x":', index=0, id="a", name="f"),
        part('{"y":', index=1, id="b", name="g"),
        part("1}", index=0),
        part("2}", index=1),
    )
    assert made == [("f", '{"x":1}'), ("g", '{"y":2}')]


def test_fragments_without_an_index_are_joined_by_id():
    """Edge case 83."""
    made = calls(
        part('{"x":', id="a", name="f"), part('{"y":', id="b", name="g"), part("1}", id="a"), part("2}", id="b")
    )
    assert made == [("f", '{"x":1}'), ("g", '{"y":2}')]


def test_fragments_with_neither_follow_the_call_that_is_being_written():
    made = calls(part('{"x":', name="f"), part("1}"), part('{"y":', name="g"), part("2}"))
    assert made == [("f", '{"x":1}'), ("g", '{"y":2}')]


def test_indexes_out_of_order_are_sorted_stably():
    """Edge case 21."""
    assert calls(part("{}", index=1, id="b", name="g"), part("{}", index=0, id="a", name="f")) == [
        ("f", "{}"),
        ("g", "{}"),
    ]


@pytest.mark.parametrize("ids", [("a", "b"), (None, None)], ids=["ids", "no ids"])
def test_calls_that_are_all_numbered_0_stay_apart(ids):
    made = calls(part('{"x":1}', index=0, id=ids[0], name="f"), part('{"y":2}', index=0, id=ids[1], name="g"))
    assert made == [("f", '{"x":1}'), ("g", '{"y":2}')]


def test_the_same_tool_twice_under_one_index_is_two_calls_once_the_first_is_whole():
    first, second = part('{"x":1}', index=0, name="f"), part('{"x":2}', index=0, name="f")
    reply, _ = assembled({"tool_calls": [first]}, {"tool_calls": [second]})
    assert [call.arguments for call in reply.message.tool_calls] == ['{"x":1}', '{"x":2}']


def test_interleaved_calls_that_are_all_numbered_0_are_told_apart_by_id():
    made = calls(
        part('{"x":', index=0, id="a", name="f"),
        part('{"y":', index=0, id="b", name="g"),
        part("1}", index=0, id="a"),
        part("2}", index=0, id="b"),
    )
    assert made == [("f", '{"x":1}'), ("g", '{"y":2}')]


def test_one_id_for_two_indexes_is_two_calls():
    """C05."""
    made = calls(part('{"x":1}', index=0, id="a", name="f"), part('{"y":2}', index=1, id="a", name="g"))
    assert made == [("f", '{"x":1}'), ("g", '{"y":2}')]


def test_a_new_id_in_every_fragment_does_not_break_a_call_up():
    made = calls(part('{"x":', index=0, id="a1", name="f"), part("1", index=0, id="a2"), part("}", index=0, id="a3"))
    assert made == [("f", '{"x":1}')]


@pytest.mark.parametrize(
    "names",
    [("get_", "weather"), ("get_weather", "get_weather"), ("get_", "get_weather"), ("get_weather", "")],
    ids=["in fragments", "repeated", "growing", "then empty"],
)
def test_a_name_is_joined_only_where_it_comes_in_fragments(names):
    first, second = part("", index=0, id="a", name=names[0]), part("{}", index=0, name=names[1])
    reply, pieces = assembled({"tool_calls": [first]}, {"tool_calls": [second]})
    assert [call.name for call in reply.message.tool_calls] == ["get_weather"]
    assert pieces == [CallNamed(name="get_weather")]


def test_a_name_repeated_with_every_fragment_is_one_call():
    made = calls(part('{"x":', index=0, id="a", name="f"), part("1}", index=0, id="a", name="f"))
    assert made == [("f", '{"x":1}')]


def test_a_call_without_a_name_is_kept_without_one_and_not_announced():
    """Edge case 84."""
    reply, pieces = assembled({"tool_calls": [part('{"x":1}', index=0, id="a")]})
    (made,) = reply.message.tool_calls
    assert (made.id, made.name, made.arguments) == ("a", "", '{"x":1}')
    assert pieces == []


def test_arguments_that_come_decoded_stay_an_object_and_absent_ones_are_none():
    decoded = {"id": "a", "index": 0, "function": {"name": "f", "arguments": {"x": 1}}}
    reply, _ = assembled({"tool_calls": [decoded]}, {"tool_calls": [part(index=1, id="b", name="g")]})
    assert [call.arguments for call in reply.message.tool_calls] == [{"x": 1}, None]


def test_the_old_way_of_one_function_call_is_joined_too():
    reply, pieces = assembled(
        {"function_call": {"name": "f", "arguments": '{"x"'}}, {"function_call": {"arguments": ":1}"}}
    )
    (made,) = reply.message.tool_calls
    assert (made.name, made.arguments) == ("f", '{"x":1}')
    assert pieces == [CallNamed(name="f")]


def test_half_a_character_waits_for_its_other_half():
    reply, pieces = assembled({"content": "a\ud83d"}, {"content": "\ude00b"}, {"content": "\ud83d"})
    assert [piece.text for piece in pieces] == ["a", "😀b", "\N{REPLACEMENT CHARACTER}"]
    assert reply.message.content == "a😀b\N{REPLACEMENT CHARACTER}"


def test_reasoning_is_joined_and_never_told_as_text():
    """C11."""
    reply, pieces = assembled({"reasoning_content": "I "}, {"reasoning_content": "think"}, {"content": "So."})
    assert reply.message.provider == {"reasoning_content": "I think"}
    assert pieces == [TextPiece(text="So.")]


def test_thinking_blocks_are_joined_up_to_their_signature():
    """C11: as LiteLLM hands on what Anthropic streams."""

    def block(index, **fields):
        return {"thinking_blocks": [{"type": "thinking", "thinking": "", "index": index, **fields}]}

    reply, _ = assembled(
        block(0, thinking="One "),
        block(0, thinking="two."),
        block(0, signature="s1"),
        {"thinking_blocks": [{"type": "redacted_thinking", "data": "xyz"}]},
        block(2, thinking="Three."),
        block(2, signature="s2"),
    )
    assert reply.message.provider["thinking_blocks"] == [
        {"type": "thinking", "thinking": "One two.", "signature": "s1"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "thinking", "thinking": "Three.", "signature": "s2"},
    ]


def test_blocks_without_an_index_end_with_their_signature():
    reply, _ = assembled(
        *({"reasoning_details": [{"type": "reasoning.text", **fields}]} for fields in BLOCKS_WITHOUT_INDEX)
    )
    assert reply.message.provider["reasoning_details"] == [
        {"type": "reasoning.text", "text": "ab", "signature": "s"},
        {"type": "reasoning.text", "text": "c"},
    ]


BLOCKS_WITHOUT_INDEX = ({"text": "a"}, {"text": "b"}, {"signature": "s"}, {"text": "c"})


def test_signature_of_a_call_goes_with_the_call():
    """C11."""
    signature = {"google": {"thought_signature": "c2ln"}}
    reply, _ = assembled(
        {"tool_calls": [part("{}", index=0, id="a", name="f", extra_content=signature)]},
        {"tool_calls": [part("", index=0, extra_content=signature)]},
    )
    assert reply.message.tool_calls[0].provider == {"extra_content": signature}


def test_only_the_first_choice_counts():
    assembly = ReplyAssembly("m")
    other = {"index": 1, "delta": {"content": "other"}, "finish_reason": "length"}
    made = chunk(choices=[{"index": 0, "delta": {"content": "mine"}, "finish_reason": "stop"}, other])
    assert list(assembly.take(made)) == [TextPiece(text="mine")]
    assert assembly.reply().finish_reason == "stop"


def test_the_last_report_of_usage_counts():
    assembly = ReplyAssembly("m")
    for used in (1, 2, 7):
        list(assembly.take(chunk({"content": "x"}, usage={"prompt_tokens": 3, "completion_tokens": used})))
    assert assembly.reply().usage.total_tokens == 10


def test_pieces_joined_are_the_text():
    reply, pieces = assembled(*({"content": word} for word in ("a ", "b\n", "", "c")))
    assert "".join(piece.text for piece in pieces) == reply.message.content == "a b\nc"


@pytest.mark.parametrize(
    ("error", "type", "retryable"),
    [
        ({"message": "slow down", "code": 429}, "rate_limited", True),
        ({"message": "slow down", "code": "429"}, "rate_limited", True),
        ({"message": "busy", "type": "overloaded_error"}, "server_error", True),
        ({"message": "slow down", "type": "rate_limit_error"}, "rate_limited", True),
        ({"message": "no", "code": 400}, "bad_request", False),
        ({"message": "odd"}, "bad_response", False),
        ("odd", "bad_response", False),
    ],
)
def test_an_error_in_place_of_a_chunk_is_sorted_by_what_it_says(error, type, retryable):
    with pytest.raises(ModelError) as caught:
        list(ReplyAssembly("m").take({"error": error}))
    assert (caught.value.type, caught.value.retryable) == (type, retryable)


def test_nothing_at_all_is_no_reply():
    with pytest.raises(ModelError, match="no choice"):
        ReplyAssembly("m").reply()


@pytest.mark.parametrize("odd", [{"choices": None}, {"choices": [7]}, {"choices": [{"delta": 7}]}, {}])
def test_odd_chunks_are_passed_over(odd):
    assembly = ReplyAssembly("m")
    assert list(assembly.take(json.loads(json.dumps(odd)))) == []
    assert list(assembly.take(chunk({"content": "x"}, finish="stop"))) == [TextPiece(text="x")]
    assert assembly.reply().message.content == "x"
