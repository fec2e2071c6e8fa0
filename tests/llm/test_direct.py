"""The direct lane alone: what it keeps, what it refuses, what it reads that LiteLLM cannot."""

import asyncio
import gzip
import json

import pytest

from tests.support.openai_server import Answer, message, serving
from tuvl.errors import ConfigError, ModelError
from tuvl.http.client import HttpClient
from tuvl.llm.direct import DirectModel
from tuvl.llm.messages import Message, ModelRequest, ToolCall
from tuvl.llm.settings import CallSettings

USER = Message(role="user", content="hi")


@pytest.fixture
async def server():
    async with serving() as made:
        yield made


@pytest.fixture
async def http():
    made = HttpClient()
    yield made
    await made.aclose()


def model(server, http, **settings) -> DirectModel:
    return DirectModel(CallSettings(name="m", model="local", api_base=server.url, **settings), http)


async def test_content_parts_are_joined_and_others_ignored(server, http):
    """C10."""
    parts = [
        {"type": "text", "text": '{"outcome":"done",'},
        {"type": "text", "text": '"result":1}'},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"type": "text", "text": ""},
    ]
    server.queue(message(parts))
    reply = await model(server, http).complete(ModelRequest(messages=[USER]))
    assert json.loads(reply.message.content) == {"outcome": "done", "result": 1}


async def test_withheld_reply_without_a_message_is_a_content_filter(server, http):
    """B04."""
    server.queue({"choices": [{"message": None, "finish_reason": "content_filter"}]})
    with pytest.raises(ModelError) as caught:
        await model(server, http).complete(ModelRequest(messages=[USER]))
    assert (caught.value.type, caught.value.retryable) == ("content_filter", False)


async def test_refusal_is_the_text_when_there_is_no_other(server, http):
    server.queue(message(None, refusal="I will not."))
    reply = await model(server, http).complete(ModelRequest(messages=[USER]))
    assert reply.message.content == "I will not."


async def test_legacy_function_call_is_a_call(server, http):
    server.queue(message(None, function_call={"name": "ping", "arguments": "{}"}, finish="function_call"))
    reply = await model(server, http).complete(ModelRequest(messages=[USER]))
    assert reply.message.tool_calls == (ToolCall(id="", name="ping", arguments="{}"),)
    assert reply.finish_reason == "tool_calls"


async def test_unknown_finish_reason_is_other(server, http):
    server.queue(message("x", finish="because"), message("x", finish="MAX_TOKENS"))
    made = model(server, http)
    assert (await made.complete(ModelRequest(messages=[USER]))).finish_reason == "other"
    assert (await made.complete(ModelRequest(messages=[USER]))).finish_reason == "length"


@pytest.mark.parametrize("body", ["[]", "null", '"text"', '{"choices":[null]}', '{"choices":{}}', "[" * 5000])
async def test_replies_of_any_other_shape_are_a_bad_response(server, http, body):
    server.queue(Answer(body=body))
    with pytest.raises(ModelError) as caught:
        await model(server, http).complete(ModelRequest(messages=[USER]))
    assert caught.value.type == "bad_response"


async def test_negative_and_not_a_number_usage_is_nothing(server, http):
    """Edge case 7."""
    body = json.dumps(message("x", usage={"prompt_tokens": -5, "completion_tokens": 1})).replace("-5", "NaN")
    server.queue(Answer(body=body), message("x", usage={"prompt_tokens": -5, "completion_tokens": True}))
    made = model(server, http)
    assert (await made.complete(ModelRequest(messages=[USER]))).usage.total_tokens == 1
    assert (await made.complete(ModelRequest(messages=[USER]))).usage is None


async def test_half_an_emoji_becomes_a_replacement_character(server, http):
    server.queue(Answer(body='{"choices":[{"message":{"role":"assistant","content":"a\\ud83d b"}}]}'))
    reply = await model(server, http).complete(ModelRequest(messages=[USER]))
    assert reply.message.content == "a\ufffd b"


async def test_one_connection_serves_many_calls_and_models(server, http):
    server.queue(*[message("x")] * 6)
    first, second = model(server, http), model(server, http)
    for _ in range(3):
        await first.complete(ModelRequest(messages=[USER]))
        await second.complete(ModelRequest(messages=[USER]))
    assert (len(server.requests), server.connections) == (6, 1)


async def test_growing_history_is_sent_whole_each_time(server, http):
    server.queue(*[message("x")] * 4)
    made = model(server, http)
    history = [Message(role="system", content="é"), USER]
    sent = []
    for turn in range(3):
        sent.append([message.content for message in history])
        await made.complete(ModelRequest(messages=history))
        history = [*history, Message(role="user", content=f"turn {turn}")]
    await made.complete(ModelRequest(messages=[history[0], Message(role="user", content="another")]))
    contents = [[entry["content"] for entry in body["messages"]] for body in server.bodies]
    assert contents == [*sent, ["é", "another"]]


async def test_message_is_written_once_however_often_it_is_sent(server, http, monkeypatch):
    written = []
    real = __import__("tuvl.llm.direct", fromlist=["encode_message"]).encode_message
    monkeypatch.setattr("tuvl.llm.direct.encode_message", lambda one: written.append(one) or real(one))
    made = model(server, http)
    history = [Message(role="user", content=str(number)) for number in range(5)]
    server.queue(*[message("x")] * 3)
    for length in (3, 4, 5):
        await made.complete(ModelRequest(messages=history[:length]))
    assert written == history


async def test_lone_surrogate_in_the_history_is_sent_escaped(server, http):
    server.queue(message("x"))
    await model(server, http).complete(ModelRequest(messages=[Message(role="user", content="a\ud83d")]))
    assert b"\\ud83d" in server.requests[0].body


async def test_redirect_of_the_api_is_an_error_that_says_what_to_do(server, http):
    server.queue(Answer(status=307, headers={"location": "https://elsewhere.example/v1/chat/completions"}))
    with pytest.raises(ModelError, match="set api_base") as caught:
        await model(server, http).complete(ModelRequest(messages=[USER]))
    assert (caught.value.type, caught.value.retryable) == ("bad_request", False)
    assert len(server.requests) == 1


async def test_reply_that_unpacks_beyond_the_cap_is_refused(server, http):
    bomb = gzip.compress(b"0" * (33 * 1024 * 1024))
    server.queue(Answer(body=bomb, headers={"content-encoding": "gzip"}))
    with pytest.raises(ModelError) as caught:
        await model(server, http).complete(ModelRequest(messages=[USER]))
    assert caught.value.type == "bad_response"
    assert "larger than" in caught.value.message


async def test_extra_headers_and_extra_body_go_where_litellm_puts_them(server, http):
    server.queue(message("x"))
    extra = {"extra_headers": {"X-Team": "ops"}, "extra_body": {"min_p": 0.1}, "seed": 1}
    await model(server, http, extra=extra).complete(ModelRequest(messages=[USER]))
    assert server.requests[0].headers["x-team"] == "ops"
    assert (server.bodies[0]["min_p"], server.bodies[0]["seed"]) == (0.1, 1)
    assert "extra_headers" not in server.bodies[0]


@pytest.mark.parametrize("name", ["model", "messages", "tools", "stream", "n"])
def test_extra_may_not_set_what_the_engine_sets(name):
    with pytest.raises(ConfigError, match=repr(name)):
        CallSettings(name="m", model="x", extra={name: 1})


async def test_key_that_no_header_can_hold_is_an_error_without_the_key(server, http):
    with pytest.raises(ModelError) as caught:
        await model(server, http, api_key="sk-with\nbreak-123456").complete(ModelRequest(messages=[USER]))
    assert caught.value.type == "bad_request"
    assert "break-123456" not in str(caught.value)


def test_settings_do_not_show_the_key():
    assert "sk-secret" not in repr(CallSettings(name="m", model="x", api_key="sk-secret"))


async def test_many_calls_at_once_each_get_their_own_reply(server, http):
    server.queue(*[message(str(number)) for number in range(50)])
    made = model(server, http)
    replies = await asyncio.gather(*(made.complete(ModelRequest(messages=[USER])) for _ in range(50)))
    assert sorted(int(reply.message.content) for reply in replies) == list(range(50))
