"""Our own stdin and stdout as a transport: the protocol has them for itself, and everything else is kept off."""

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from tuvl.mcp.stdio import Incoming, Streams

MAX_LINE_BYTES = 10_485_760
"""Largest message that is taken; a larger one ends the connection."""

_FLUSH_S = 2.0
_STDIN, _STDOUT, _STDERR = 0, 1, 2


@asynccontextmanager
async def own_streams() -> AsyncIterator[Streams]:
    """Serve over stdin and stdout; meanwhile whoever prints, a node or a library, prints to stderr."""
    with _claimed() as (source, target):
        incoming, session_reads = anyio.create_memory_object_stream[Incoming](0)
        session_writes, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        writer = _Writer(target)

        async def read() -> None:
            async with incoming:
                async for line in _lines(source):
                    try:
                        item: Incoming = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                    except ValueError as error:
                        item = error
                    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                        await incoming.send(item)

        async def write() -> None:
            async with outgoing:
                async for item in outgoing:
                    writer.put(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

        pumps = [asyncio.create_task(read()), asyncio.create_task(write())]
        try:
            yield session_reads, session_writes
            session_writes.close()
            await asyncio.wait(pumps[1:], timeout=_FLUSH_S)
        finally:
            for pump in pumps:
                pump.cancel()
            for stream in (incoming, session_reads, session_writes, outgoing):
                stream.close()
            await asyncio.gather(*pumps, return_exceptions=True)
            await writer.flush()


@contextlib.contextmanager
def _claimed() -> Iterator[tuple[int, int]]:
    """Move stdin and stdout to numbers of their own; in their place are nothing, and stderr."""
    source, target = os.dup(_STDIN), os.dup(_STDOUT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(nothing, _STDIN)
        os.dup2(_STDERR, _STDOUT)
        yield source, target
    finally:
        os.dup2(source, _STDIN)
        os.dup2(target, _STDOUT)
        os.close(nothing)


async def _lines(source: int) -> AsyncIterator[bytes]:
    """Yield the lines of a file that may be a pipe, a terminal or a plain file, until it ends."""
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        piece = b"-"
        while piece:
            try:
                piece = os.read(source, 65536)
            except OSError:
                piece = b""
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody reads any more
                loop.call_soon_threadsafe(pieces.put_nowait, piece)

    # A daemon: a read that waits for a client that says nothing must not hold up the end of the process.
    threading.Thread(target=read, name="tuvl-mcp-stdin", daemon=True).start()
    buffer = bytearray()
    while piece := await pieces.get():
        buffer += piece
        *whole, rest = buffer.split(b"\n")
        buffer = bytearray(rest)
        for line in whole:
            if line.strip():
                yield bytes(line)
        if len(buffer) > MAX_LINE_BYTES:
            return
    if buffer.strip():
        yield bytes(buffer)


class _Writer:
    """Writes in a thread, in order, so that a client that does not read holds up nothing but its own replies."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._done = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, name="tuvl-mcp-stdout", daemon=True).start()

    def put(self, data: bytes) -> None:
        self._queue.put(data)

    async def flush(self) -> None:
        """Write what is left; bounded, for a client that does not read."""
        self._queue.put(None)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_S):
                await self._done.wait()

    def _run(self) -> None:
        with contextlib.suppress(OSError):  # the client has gone
            while (data := self._queue.get()) is not None:
                while data:
                    data = data[os.write(self._target, data) :]
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._done.set)
