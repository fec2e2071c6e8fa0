"""The SDK's message streams over the lines of a process."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from tuvl.mcp.process import ServerProcess

_log = logging.getLogger("tuvl.mcp")

Incoming: TypeAlias = SessionMessage | Exception
Streams: TypeAlias = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]
"""Where a session reads, and where it writes."""

_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError)


@asynccontextmanager
async def stdio_streams(name: str, process: ServerProcess) -> AsyncIterator[Streams]:
    """Connect a session to a process; on the way out the process, and all it started, is ended."""
    incoming, session_reads = anyio.create_memory_object_stream[Incoming](0)
    session_writes, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    pumps = [
        asyncio.create_task(_read(name, process, incoming)),
        asyncio.create_task(_write(process, outgoing)),
    ]
    try:
        yield session_reads, session_writes
        # Let what was said last, such as a cancelled call, reach the server.
        session_writes.close()
        await asyncio.wait(pumps[1:], timeout=0.2)
        await process.stop()
    finally:
        process.kill()
        for pump in pumps:
            pump.cancel()
        for stream in (incoming, session_reads, session_writes, outgoing):
            stream.close()
        await asyncio.gather(*pumps, return_exceptions=True)
        await process.gone()


async def _read(name: str, process: ServerProcess, incoming: MemoryObjectSendStream[Incoming]) -> None:
    async with incoming:
        async for line in process.lines():
            if not line.strip():
                continue
            message = _message(line)
            process.note_line(is_message=message is not None)
            if message is None:
                # A banner, a log line, a stray print: what the protocol forbids and many servers do.
                _log.info("%s wrote a line of %d bytes that is no message", name, len(line))
                continue
            with contextlib.suppress(*_GONE):  # the session is over; the rest is read all the same
                await incoming.send(SessionMessage(message))


def _message(line: bytes) -> JSONRPCMessage | None:
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return _broken_answer(line)


def _broken_answer(line: bytes) -> JSONRPCError | None:
    """Make an error of an answer that is none: whoever asked must not wait for another."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    request = data.get("id") if isinstance(data, dict) and ("result" in data or "error" in data) else None
    if not isinstance(request, int | str):
        return None
    error = ErrorData(code=PARSE_ERROR, message="the answer does not have the form of one")
    return JSONRPCError(jsonrpc="2.0", id=request, error=error)


async def _write(process: ServerProcess, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with outgoing:
        async for item in outgoing:
            await process.write_line(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode())
