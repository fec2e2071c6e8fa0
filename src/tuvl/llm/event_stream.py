"""A chat completion over server-sent events: bytes → pieces to a sink as they come, and the reply at the end."""

import asyncio
from collections.abc import AsyncIterator, Iterable

from tuvl.http.fault import HttpFault
from tuvl.llm.assembly import ReplyAssembly
from tuvl.llm.failures import bad_response
from tuvl.llm.messages import DeltaSink, ModelReply
from tuvl.llm.sse import ServerEvent, SseParser
from tuvl.llm.wire import read_json
from tuvl.values import JsonObject

_LAST_WORD = "[DONE]"

_LINGER_S = 0.1
"""How long to wait, after the last word, for the server to end its answer, which lets the connection be used again."""


async def read_event_stream(chunks: AsyncIterator[bytes], sink: DeltaSink, *, model: str) -> ModelReply:
    """Read one reply; raises `ModelError` for an error in it, and `HttpFault` when it breaks off."""
    assembly, parser = ReplyAssembly(model), SseParser()
    done = False
    try:
        async for chunk in chunks:
            done = await _take(parser.feed(chunk), assembly, sink, model)
            if done:
                break
    except HttpFault:
        if not assembly.finished:
            raise
    if not done:
        done = await _take(parser.end(), assembly, sink, model)
    if not done:
        assembly.require_end()
    for delta in assembly.rest():
        await sink(delta)
    await _read_out(chunks)
    return assembly.reply()


async def _take(events: Iterable[ServerEvent], assembly: ReplyAssembly, sink: DeltaSink, model: str) -> bool:
    """Take events in, and say whether the last one was among them."""
    for event in events:
        if event.data == _LAST_WORD:
            return True
        if event.data.strip():
            for delta in assembly.take(_chunk(event, model)):
                await sink(delta)
    return False


def _chunk(event: ServerEvent, model: str) -> JsonObject:
    try:
        data = read_json(event.data)
    except ValueError:
        raise bad_response(model, "an event of the stream is not JSON", status=200) from None
    if not isinstance(data, dict):
        raise bad_response(model, "an event of the stream is not a JSON object", status=200)
    if event.event == "error" and not data.get("error"):
        return {"error": data}
    return data


async def _read_out(chunks: AsyncIterator[bytes]) -> None:
    try:
        async with asyncio.timeout(_LINGER_S):
            async for _ in chunks:
                pass
    except (HttpFault, TimeoutError):
        return  # the reply is whole; only the connection is lost
