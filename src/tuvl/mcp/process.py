"""A server as a process: its lines, the end of its stderr, and its death, with everything it started."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import cast

from tuvl.mcp.endpoint import ProcessEndpoint
from tuvl.mcp.fault import FaultKind, McpFault
from tuvl.redaction import redact
from tuvl.values import JsonObject, shorten

MAX_LINE_BYTES = 10_485_760
"""Largest message that is read; a larger one ends the session."""

STDERR_SHOWN_CHARS = 4000
"""How much of the end of stderr a failure shows."""

_STDERR_KEPT_BYTES = 16 * 1024
_QUEUED_LINES = 64
_LAST_OUTPUT_S = 0.2
"""How long output is awaited of a process that is gone: another that it started may hold the pipe open."""
_EXIT_S = 1.5
_TERM_S = 1.5
_KILL_S = 1.0
_ORPHANS_S = 0.3
_PROBE = 0
_PROBE_EVERY_S = 0.01
_STDOUT = 1
_STDERR = 2


class ServerProcess(asyncio.SubprocessProtocol):
    """One started server. Its pipes are always read, so that it never blocks on writing to us."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._transport: asyncio.SubprocessTransport | None = None
        self._buffer = bytearray()
        self._searched = 0
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._held_back = False
        self._stderr = bytearray()
        self._writable = asyncio.Event()
        self._writable.set()
        self._over = False
        self._killed = False
        self._messages = self._strays = 0
        self.exited = asyncio.Event()
        self.oversized = False

    @classmethod
    async def start(cls, name: str, endpoint: ProcessEndpoint) -> "ServerProcess":
        """Start a server in a process group of its own; raises `McpFault` when it cannot be started."""
        loop = asyncio.get_running_loop()
        process = cls(name)
        try:
            await loop.subprocess_exec(
                lambda: process,
                *endpoint.command,
                env=dict(endpoint.environ),
                cwd=endpoint.folder,
                start_new_session=True,
            )
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise McpFault(
                f"{name} cannot be started: {endpoint.command[0]!r}: {reason}; "
                "see `command` of its artifact, and whether the program is on the PATH",
                kind="connection",
            ) from error
        return process

    # ---- what asyncio calls --------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Cut stdout into lines, wherever the pieces were cut; of stderr keep the end."""
        if fd == _STDERR:
            self._stderr += data
            del self._stderr[:-_STDERR_KEPT_BYTES]
            return
        if self._over:
            return
        self._buffer += data
        while (end := self._buffer.find(b"\n", self._searched)) >= 0:
            self._lines.put_nowait(bytes(self._buffer[:end]))
            del self._buffer[: end + 1]
            self._searched = 0
        self._searched = len(self._buffer)
        if len(self._buffer) > MAX_LINE_BYTES:
            self.oversized = True
            self._buffer.clear()
            self._end()
        if self._lines.qsize() > _QUEUED_LINES and not self._held_back:
            self._held_back = True
            self._stdout().pause_reading()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """End the lines with the pipe they come through."""
        if fd == _STDOUT:
            self._end()

    def process_exited(self) -> None:
        """End the lines when the process is gone, though the pipe may be held open by another."""
        self.exited.set()
        self._writable.set()
        if self._killed and self._transport is not None:
            self._transport.close()
        asyncio.get_running_loop().call_later(_LAST_OUTPUT_S, self._end)

    def pause_writing(self) -> None:
        """Hold writers back: the server does not read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let writers go on."""
        self._writable.set()

    # ---- what the session calls ----------------------------------------------------------------------------------

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield each line of stdout; ends when the process, or its output, does."""
        while (line := await self._lines.get()) is not None:
            if self._held_back and self._lines.qsize() < _QUEUED_LINES // 2:
                self._held_back = False
                self._stdout().resume_reading()
            yield line

    async def write_line(self, line: bytes) -> None:
        """Write one line to stdin; dropped when the process is gone, and held back while it does not read."""
        pipe = self._transport and self._transport.get_pipe_transport(0)
        if pipe is not None and not self.exited.is_set() and not pipe.is_closing():
            cast(asyncio.WriteTransport, pipe).write(line + b"\n")
            await self._writable.wait()

    def obituary(self) -> str:
        """Say how the server ended, for a message."""
        code = self._transport.get_returncode() if self._transport is not None else None
        if self.oversized:
            return f"it sent a message of more than {MAX_LINE_BYTES} bytes"
        if code is None:
            return "it closed its output"
        if code < 0:
            return f"it was ended by {_signal_name(-code)}"
        return f"it exited with code {code}"

    def stderr_tail(self) -> str:
        """Return the end of what it wrote to stderr, secrets masked."""
        # Masked before it is cut, so that half a secret never shows.
        return redact(bytes(self._stderr).decode(errors="replace"))[-STDERR_SHOWN_CHARS:].strip()

    def note_line(self, *, is_message: bool) -> None:
        """Count a line of stdout, for a person who looks for why nothing comes of it."""
        self._messages += is_message
        self._strays += not is_message

    def heard(self) -> str:
        """Say, for the end of a message, that all it wrote to stdout was something else than messages."""
        if self._messages or not self._strays:
            return ""
        lines = "a line" if self._strays == 1 else f"{self._strays} lines"
        return (
            f"; it wrote {lines} to stdout that are no messages of the protocol:"
            " stdout is for these alone, everything else belongs on stderr"
        )

    def failure(self, *, sent: bool) -> McpFault:
        """Return why a call found no server any more."""
        tail = self.stderr_tail()
        last = shorten(" / ".join(tail.splitlines()[-3:]), 200)
        detail: JsonObject = {"stderr": tail} if tail else {}
        words = f"; its last words: {last}" if last else ""
        message = f"{self._name} is gone: {self.obituary()}{self.heard()}{words}"
        kind: FaultKind = "response_too_large" if self.oversized else "connection"
        return McpFault(message, kind=kind, sent=sent, detail=detail)

    async def stop(self) -> None:
        """End the process and all it started: close its stdin, then ask, then kill; each wait is bounded."""
        transport = self._transport
        if transport is None:
            return
        try:
            stdin = transport.get_pipe_transport(0)
            if stdin is not None:
                stdin.close()
            if not await self._gone_within(_EXIT_S):
                self._signal(signal.SIGTERM)
                await self._gone_within(_TERM_S)
        finally:
            self.kill()

    def kill(self) -> None:
        """End the process and all it started, at once; `gone` waits until it is."""
        if self._transport is None:
            return
        self._killed = True
        # Also when the process itself is gone: what it started may have outlived it.
        self._signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
        self._end()
        if self.exited.is_set():
            # Closed any earlier, asyncio would look for the exit code itself, and then miss it.
            self._transport.close()

    async def gone(self) -> None:
        """Wait until a killed process, and all it started, has ended; bounded, for what cannot be killed."""
        if not await self._gone_within(_KILL_S):
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ORPHANS_S):
                while self._signal(_PROBE):  # noqa: ASYNC110 - nobody tells when a group of processes is empty
                    await asyncio.sleep(_PROBE_EVERY_S)

    async def _gone_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.exited.wait()
        return self.exited.is_set()

    def _signal(self, number: int) -> bool:
        """Signal the whole group; tells whether there was anybody left in it."""
        if self._transport is None:
            return False
        try:
            if sys.platform == "win32":
                if number:
                    self._transport.terminate()
                return False
            # The server leads a group of its own, so its number is that of the group, also after its death.
            os.killpg(self._transport.get_pid(), number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _end(self) -> None:
        if not self._over:
            self._over = True
            if self._buffer.strip():
                self._lines.put_nowait(bytes(self._buffer))
            self._lines.put_nowait(None)

    def _stdout(self) -> asyncio.ReadTransport:
        assert self._transport is not None
        return cast(asyncio.ReadTransport, self._transport.get_pipe_transport(_STDOUT))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
