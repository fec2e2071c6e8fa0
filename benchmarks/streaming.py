"""What one piece of a streamed reply costs on its way from the wire to an event."""

import asyncio
import json
import time
from collections.abc import AsyncIterator

from benchmarks.measure import Figure, median
from tuvl.agent.streaming import ReplyStream
from tuvl.agent.transcript import Transcript
from tuvl.clock import SystemClock
from tuvl.events.fanout import Fanout
from tuvl.events.types import Event, EventBody
from tuvl.llm.event_stream import read_event_stream

PIECES = 10_000


def figures() -> list[Figure]:
    """Measure the figures of streaming."""
    return [Figure(name="a piece of a streamed reply", value=piece_ms(), unit="ms", limit=0.02, note="CPU time")]


def piece_ms() -> float:
    """Measure one piece: read, put together, made an event, given to a sink."""
    chunks = _wire()
    return median(lambda: asyncio.run(_seconds(chunks))) / PIECES * 1000


class _Reader:
    """A sink that only reads."""

    def accept(self, event: Event) -> None:
        """Take an event."""


async def _seconds(chunks: list[bytes]) -> float:
    async def wire() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    clock, fanout = SystemClock(), Fanout([_Reader()])

    def emit(body: EventBody) -> None:
        fanout.accept(Event(run_id="r", seq=1, at=clock.now(), step_id="agent", body=body))

    stream = ReplyStream(emit=emit, turn=lambda: 1, transcript=Transcript("agent"))
    stream.begin()
    started = time.process_time()
    reply = await read_event_stream(wire(), stream.take, model="bench")
    await stream.end(reply)
    seconds = time.process_time() - started
    await fanout.aclose()
    return seconds


def _wire() -> list[bytes]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "bench"}
    piece = {"index": 0, "delta": {"content": " word"}, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    events = [json.dumps({**head, "choices": [choice]}) for choice in [piece] * PIECES + [end]]
    return [f"data: {text}\n\n".encode() for text in [*events, "[DONE]"]]
