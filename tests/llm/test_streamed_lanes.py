"""Both lanes against one server that streams: the same pieces, the same reply, the same kind of failure."""

import asyncio
import gzip
import json

import pytest

from tests.support.openai_server import (
    EVENT_STREAM,
    Answer,
    call,
    captured,
    chunk,
    in_pieces,
    message,
    serving,
    sse,
    streamed,
    trickled,
)
from tuvl.errors import ModelError
from tuvl.http.client import HttpClient
from tuvl.llm.direct import DirectModel
from tuvl.llm.litellm_model import LiteLLMModel, close_connections
from tuvl.llm.messages import CallNamed, Message, ModelRequest, TextPiece, ToolSpec
from tuvl.llm.settings import CallSettings

USER = Message(role="user", content="Go.")
PING = ToolSpec(name="ping", description="Ping.", parameters={"type": "object", "properties": {}})
USAGE = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34, "prompt_tokens_details": {"cached_tokens": 9}}


class Pieces(list):
    """A sink that keeps what it gets, and tells when the first piece is there."""

    def __init__(self) -> None:
        super().__init__()
        self.came = asyncio.Event()

    async def __call__(self, delta) -> None:
        self.append(delta)
        self.came.set()

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self if isinstance(piece, TextPiece))

    @property
    def names(self) -> list[str]:
        return [piece.name for piece in self if isinstance(piece, CallNamed)]


@pytest.fixture
async def server():
    async with serving() as made:
        yield made


@pytest.fixture(params=["direct", "litellm"])
async def make(request, server):
    """A maker of models of one lane; keywords go into its settings."""
    http = HttpClient()

    def make(**settings):
        values = {"name": "m", "api_base": server.url, "api_key": "sk-0123456789", **settings}
        if request.param == "direct":
            return DirectModel(CallSettings(model="local", **values), http)
        return LiteLLMModel(CallSettings(model="openai/local", **values))

    yield make
    await (http.aclose() if request.param == "direct" else close_connections())


@pytest.fixture
async def model(make):
    return make()


async def ask(model, *, tools=()) -> tuple:
    pieces = Pieces()
    return await model.complete(ModelRequest(messages=[USER], tools=tools, on_delta=pieces)), pieces


async def fail(model, server, answer) -> ModelError:
    server.queue(answer)
    with pytest.raises(ModelError) as caught:
        await ask(model)
    return caught.value


REPLIES = {
    "text": message("Hello there,\nfriend. é 😀", usage=USAGE),
    "no usage": message("Hello there."),
    "calls": message(None, calls=[call("ping", '{"a": 1}'), call("pong", "{}", "c2")], finish="tool_calls"),
    "text and a call": message("One moment.", calls=[call("ping", '{"a": [1, 2]}')], finish="tool_calls", usage=USAGE),
    "cut off": message("Half of", finish="length", usage=USAGE),
    "filtered": message("", finish="content_filter"),
    "reasoning": message("So.", reasoning_content="I think.", usage=USAGE),
    "signature": message(
        None, calls=[call("ping", extra_content={"google": {"thought_signature": "c2ln"}})], finish="tool_calls"
    ),
    "empty": message(""),
}


@pytest.mark.parametrize("name", REPLIES)
async def test_a_reply_is_the_same_whether_it_comes_in_pieces_or_whole(model, server, name):
    """Edge case 85: `length` is preserved."""
    server.queue(REPLIES[name], in_pieces(REPLIES[name]))
    whole = await model.complete(ModelRequest(messages=[USER], tools=(PING,)))
    reply, pieces = await ask(model, tools=(PING,))
    assert (reply.message, reply.finish_reason, reply.usage) == (whole.message, whole.finish_reason, whole.usage)
    assert pieces.text == (whole.message.content or "")
    assert pieces.names == [made.name for made in whole.message.tool_calls]


async def test_usage_is_asked_for_and_the_rest_of_the_request_is_the_same(model, server):
    server.queue(message("x"), in_pieces(message("x")))
    await model.complete(ModelRequest(messages=[USER], tools=(PING,), temperature=0.5))
    await model.complete(ModelRequest(messages=[USER], tools=(PING,), temperature=0.5, on_delta=Pieces()))
    plain, streaming = server.bodies
    assert streaming.pop("stream") is True
    assert streaming.pop("stream_options") == {"include_usage": True}
    assert streaming == plain


async def test_what_a_small_model_really_streamed_is_one_call(model, server):
    server.queue(Answer(body=captured("stream_tool_deltas").body, headers=EVENT_STREAM))
    reply, pieces = await ask(model, tools=(PING,))
    (made,) = reply.message.tool_calls
    assert (made.name, json.loads(made.arguments)) == ("get_weather", {"city": "Oslo", "unit": "celsius"})
    assert (reply.finish_reason, reply.usage, pieces.names) == ("tool_calls", None, ["get_weather"])


async def test_interleaved_calls_keep_their_own_arguments_and_order(model, server):
    """F01, edge case 83."""

    def fragment(index, arguments, **fields):
        name = {"name": fields.pop("name")} if "name" in fields else {}
        return {"index": index, "function": {**name, "arguments": arguments}, **fields}

    server.queue(
        streamed(
            chunk({"tool_calls": [fragment(0, '{"x":', id="a", type="function", name="f")]}),
            chunk({"tool_calls": [fragment(1, '{"y":', id="b", type="function", name="g")]}),
            chunk({"tool_calls": [fragment(0, "1}")]}),
            chunk({"tool_calls": [fragment(1, "2}")]}),
            chunk(finish="tool_calls"),
        )
    )
    reply, _ = await ask(model, tools=(PING,))
    assert [(made.id, made.name, made.arguments) for made in reply.message.tool_calls] == [
        ("a", "f", '{"x":1}'),
        ("b", "g", '{"y":2}'),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
async def test_bytes_may_be_cut_anywhere(model, server, end):
    said = "Grüße an 東京 😀."
    raw = sse(*(chunk({"content": char}) for char in said), chunk(finish="stop")).decode().replace("\n", end).encode()
    server.queue(trickled(raw[at : at + 5] for at in range(0, len(raw), 5)))
    reply, pieces = await ask(model)
    assert reply.message.content == pieces.text == said


async def test_comments_and_a_last_event_without_its_blank_line_do_no_harm(model, server):
    raw = b": keep-alive\n\n" + sse(chunk({"content": "Hi"}), chunk(finish="stop")).rstrip(b"\n")
    server.queue(Answer(body=raw, headers=EVENT_STREAM))
    assert (await ask(model))[0].message.content == "Hi"


async def test_a_refusal_is_the_same_failure_as_ever(model, server):
    error = {"error": {"message": "slow down"}}
    failed = await fail(model, server, Answer(status=429, body=error, headers={"retry-after": "7"}))
    assert (failed.type, failed.retryable, failed.retry_after_s, failed.status) == ("rate_limited", True, 7.0, 429)


BROKEN = {
    "connection lost": (
        Answer(body=sse(chunk({"content": "Half"}), chunk({"content": " of"})), headers=EVENT_STREAM, cut_after=200),
        ("connection", True),
    ),
    "no end": (streamed(chunk({"content": "Half"}), done=False), ("connection", True)),
    "overloaded": (
        streamed(chunk({"content": "Half"}), {"error": {"message": "busy", "type": "server_error"}}),
        ("server_error", True),
    ),
    "status in the body": (
        streamed(chunk({"content": "Half"}), {"error": {"message": "slow", "code": 429}}),
        ("rate_limited", True),
    ),
    "refused half way": (
        streamed(chunk({"content": "Half"}), {"error": {"message": "no", "code": 400}}),
        ("bad_request", False),
    ),
    "no JSON": (
        Answer(body=sse(chunk({"content": "Half"}), done=False) + b"data: {nope\n\n", headers=EVENT_STREAM),
        ("bad_response", False),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_stream_that_breaks_is_a_failure_sorted_as_ever_and_leaves_nothing_running(model, server, name):
    answer, (type, retryable) = BROKEN[name]
    failed = await fail(model, server, answer)
    assert (failed.type, failed.retryable) == (type, retryable)
    await nothing_is_left()


async def test_a_connection_lost_after_the_reply_costs_only_the_usage(model, server):
    raw = sse(chunk({"content": "Hi"}), chunk(finish="stop"), done=False)
    server.queue(Answer(body=raw + b"data: {}", headers=EVENT_STREAM, cut_after=len(raw)))
    reply, _ = await ask(model)
    assert (reply.message.content, reply.finish_reason, reply.usage) == ("Hi", "stop", None)


async def test_cancelled_half_way_the_connection_is_closed_and_nothing_is_left(model, server):
    """Edge case 87, G06."""
    never = asyncio.Event()
    gone = asyncio.Event()
    trickle = trickled([sse(chunk({"content": "Half"}), done=False)], then=never)

    async def until_the_client_is_gone(writer) -> None:
        waiting = asyncio.ensure_future(trickle.stream(writer))
        while not writer.transport.is_closing():
            writer.write(b": still here\n\n")
            await asyncio.sleep(0)
        waiting.cancel()
        gone.set()

    server.queue(Answer(headers=EVENT_STREAM, stream=until_the_client_is_gone))
    pieces = Pieces()
    asking = asyncio.ensure_future(model.complete(ModelRequest(messages=[USER], on_delta=pieces)))
    async with asyncio.timeout(20):
        await pieces.came.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await gone.wait()
    await nothing_is_left()


async def test_what_the_sink_raises_passes_through_as_it_is(model, server):
    class Full(Exception):
        pass

    async def sink(delta) -> None:
        raise Full

    server.queue(in_pieces(message("Hi there.")))
    with pytest.raises(Full):
        await model.complete(ModelRequest(messages=[USER], on_delta=sink))
    await nothing_is_left()


async def test_connections_are_kept_from_stream_to_stream(server):
    http = HttpClient()
    model = DirectModel(CallSettings(name="m", model="local", api_base=server.url), http)
    server.queue(*[in_pieces(message("x")) for _ in range(3)])
    for _ in range(3):
        await ask(model)
    assert server.connections == 1
    await http.aclose()


async def test_compressed_streams_are_read_under_the_cap(server):
    http = HttpClient()
    model = DirectModel(CallSettings(name="m", model="local", api_base=server.url), http)
    packed = {**EVENT_STREAM, "content-encoding": "gzip"}
    server.queue(Answer(body=gzip.compress(in_pieces(message("Hi there.")).body, mtime=0), headers=packed))
    assert (await ask(model))[0].message.content == "Hi there."
    bomb = gzip.compress(b": " + b"0" * (33 * 1024 * 1024), mtime=0)
    failed = await fail(model, server, Answer(body=bomb, headers=packed))
    assert failed.type == "bad_response"
    await http.aclose()


@pytest.mark.parametrize(
    "options", [{"include_usage": True, "continuous_usage_stats": True}, None], ids=["own", "none"]
)
async def test_stream_options_of_the_preset_win_and_go_into_streams_only(server, make, options):
    model = make(extra={"stream_options": options})
    server.queue(in_pieces(message("x")), message("x"))
    await ask(model)
    await model.complete(ModelRequest(messages=[USER]))
    streaming, plain = server.bodies
    assert streaming.get("stream_options") == options
    assert "stream_options" not in plain


async def nothing_is_left() -> None:
    """No task but those of the test's own server; what only has to be told that it is over gets the time for it."""
    async with asyncio.timeout(10):
        while [task for task in asyncio.all_tasks() if not _of_the_test(task)]:
            await asyncio.sleep(0)


def _of_the_test(task: asyncio.Task) -> bool:
    name = getattr(task.get_coro(), "__qualname__", "")
    return task is asyncio.current_task() or name.startswith(("serving", "LoggingWorker"))
