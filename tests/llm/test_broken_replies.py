"""Both lanes against one server that answers badly: the same reply, or the same failure in the same words."""

import json

import pytest

from tests.support.openai_server import Answer, HttpServer, chunk, message, serving, streamed
from tuvl.errors import ModelError
from tuvl.http.client import HttpClient
from tuvl.llm.direct import DirectModel
from tuvl.llm.litellm_model import LiteLLMModel, close_connections
from tuvl.llm.messages import Message, ModelReply, ModelRequest
from tuvl.llm.settings import CallSettings

KEY = "sk-very-secret-0123456789"
HTML = {"content-type": "text/html"}
PAGE = f"<!DOCTYPE html><html><body>Bad gateway {KEY}</body></html>"


def said(value, **fields) -> dict:
    """A reply whose one choice holds this as its message."""
    return {"choices": [{"index": 0, "message": value, "finish_reason": "stop", **fields}]}


def using(usage: object) -> Answer:
    """A sound reply with this usage; `1e999` stands for an infinite number."""
    text = json.dumps({**message("x"), "usage": usage}).replace('"1e999"', "1e999")
    return Answer(body=text)


def error(**fields: object) -> dict:
    return {"error": {"message": "no luck", **fields}}


SEE = "that is not JSON; see that `api_base` of its preset leads to an API"
NOT_JSON = ("bad_response", False, f"model 'm' answered 200 with something {SEE}")
PAGE_INSTEAD = ("bad_response", False, f"model 'm' answered 200 with text/html {SEE}")
NO_OBJECT = ("bad_response", False, "model 'm': the reply is not a JSON object")
NO_CHOICE = ("bad_response", False, "model 'm': the reply holds no choice")
NO_MESSAGE = ("bad_response", False, "model 'm': the reply's choice holds no message")
UNNAMED = ("bad_response", False, "model 'm': error in place of a reply: no luck")

FAILURES = {
    "a page": (Answer(body=PAGE, headers=HTML), PAGE_INSTEAD),
    "a page that says it is JSON": (Answer(body=PAGE), PAGE_INSTEAD),
    "a page with an error status": (
        Answer(status=502, body=PAGE, headers=HTML),
        ("server_error", True, "model 'm' answered 502"),
    ),
    "nothing": (Answer(body=""), NOT_JSON),
    "half a reply": (Answer(body='{"choices":[{"mess'), NOT_JSON),
    "null": (Answer(body="null"), NO_OBJECT),
    "a list": (Answer(body="[]"), NO_OBJECT),
    "a number": (Answer(body="7"), NO_OBJECT),
    "an empty object": (Answer(body="{}"), NO_CHOICE),
    "something else": ({"detail": "Not Found"}, NO_CHOICE),
    "no choices": ({"choices": []}, NO_CHOICE),
    "null choices": ({"choices": None}, NO_CHOICE),
    "choices that are an object": ({"choices": {}}, NO_CHOICE),
    "a choice that is a text": ({"choices": ["x"]}, NO_MESSAGE),
    "a choice that is null": ({"choices": [None]}, NO_MESSAGE),
    "an empty choice": ({"choices": [{}]}, NO_MESSAGE),
    "a null message": (said(None), NO_MESSAGE),
    "a message that is a text": (said("hello"), NO_MESSAGE),
    "a null message, filtered": (
        said(None, finish_reason="content_filter"),
        (
            "content_filter",
            False,
            "model 'm': the provider withheld the reply (finish reason 'content_filter')",
        ),
    ),
    "an error": (error(), UNNAMED),
    "an error that is a text": ({"error": "no luck"}, UNNAMED),
    "an error in a list": ({"error": ["no luck"]}, UNNAMED),
    "an error beside null choices": ({"choices": None, **error()}, UNNAMED),
    "an error with a status": (error(code=503), ("server_error", True, "model 'm' answered 503: no luck")),
    "an error with a status in a text": (error(code="429"), ("rate_limited", True, "model 'm' answered 429: no luck")),
    "an error with a name": (
        error(type="overloaded_error"),
        ("server_error", True, "model 'm': error in place of a reply: no luck"),
    ),
    "an error with a name for its code": (
        error(code="rate_limit_exceeded"),
        ("rate_limited", True, "model 'm': error in place of a reply: no luck"),
    ),
    "an overflow under 200": (
        {"error": {"message": "maximum context length is 8192 tokens", "code": 400}},
        ("context_overflow", False, "model 'm' answered 400: maximum context length is 8192 tokens"),
    ),
    "a key in the error": (
        error(message=f"wrong key {KEY}", code=401),
        (
            "authentication",
            False,
            "model 'm' answered 401: wrong key sk-*** (check api_key of its preset, or the provider's own variable)",
        ),
    ),
}

REPLIES = {
    "null content": (message(None), None, None),
    "no content": (said({"role": "assistant"}), None, None),
    "a number for content": (message(7), None, None),
    "an object for content": (message({"a": 1}), None, None),
    "content in parts": (message([{"type": "text", "text": "hi"}]), "hi", None),
    "calls that are a text": (said({"role": "assistant", "content": "x", "tool_calls": "no"}), "x", None),
    "no role": (said({"content": "x"}), "x", None),
    "an error beside a reply": ({**message("x"), **error()}, "x", None),
    "usage that is a text": (using("many"), "x", None),
    "usage that is a list": (using([1]), "x", None),
    "usage in texts": (using({"prompt_tokens": "5", "completion_tokens": "3", "total_tokens": "8"}), "x", (5, 3, 8)),
    "usage with fractions": (
        using({"prompt_tokens": 5.0, "completion_tokens": 3.5, "total_tokens": 8.5}),
        "x",
        (5, 4, 9),
    ),
    "usage below zero": (using({"prompt_tokens": -5, "completion_tokens": -3, "total_tokens": -8}), "x", None),
    "usage of nulls": (using({"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}), "x", None),
    "usage without end": (using({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": "1e999"}), "x", (5, 3, 8)),
    "odd details of usage": (
        using({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8, "prompt_tokens_details": "x"}),
        "x",
        (5, 3, 8),
    ),
}


@pytest.fixture
async def server():
    async with serving() as made:
        yield made


@pytest.fixture(params=["direct", "litellm"])
async def model(request, server):
    settings = {"name": "m", "api_base": server.url, "api_key": KEY}
    if request.param == "direct":
        http = HttpClient()
        yield DirectModel(CallSettings(model="local", **settings), http)
        await http.aclose()
        return
    yield LiteLLMModel(CallSettings(model="openai/local", **settings))
    await close_connections()


async def ask(model, server: HttpServer, answer, *, stream: bool) -> ModelReply:
    async def sink(_delta) -> None:
        pass

    server.queue(answer)
    request = ModelRequest(messages=[Message(role="user", content="Go.")], on_delta=sink if stream else None)
    return await model.complete(request)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", FAILURES)
async def test_what_is_no_reply_is_the_same_failure_in_the_same_words(model, server, name, stream) -> None:
    """B04: whichever way the call goes out, and whether or not the reply was asked for in pieces."""
    answer, expected = FAILURES[name]
    with pytest.raises(ModelError) as caught:
        await ask(model, server, answer, stream=stream)
    failed = caught.value
    assert (failed.type, failed.retryable, failed.message) == expected
    assert failed.signal == "error"
    assert "\n" not in failed.message


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", REPLIES)
async def test_an_odd_reply_is_read_the_same(model, server, name, stream) -> None:
    """B04, E01: null content is an empty message, and usage that is no number is no usage."""
    answer, text, used = REPLIES[name]
    reply = await ask(model, server, answer, stream=stream)
    usage = reply.usage
    assert (reply.message.content or None, reply.message.tool_calls) == (text, ())
    assert (usage and (usage.input_tokens, usage.output_tokens, usage.total_tokens)) == used


async def test_a_server_that_does_not_stream_answers_whole(model, server) -> None:
    """With its calls and its usage, as if nobody had asked for pieces."""
    used = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    reply = await ask(model, server, message("All of it.", usage=used), stream=True)
    assert (reply.message.content, reply.usage and reply.usage.total_tokens) == ("All of it.", 8)


async def test_usage_of_an_odd_type_does_not_break_a_stream(model, server) -> None:
    answer = streamed(chunk({"content": "x"}), chunk(finish="stop"), chunk(choices=[], usage={"prompt_tokens": "many"}))
    assert (await ask(model, server, answer, stream=True)).message.content == "x"
