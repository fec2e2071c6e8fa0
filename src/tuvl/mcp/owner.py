"""One session and the task that owns it: opened, kept and closed there, whoever calls."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import httpx2
from mcp.client.session import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tuvl.errors import ConfigError
from tuvl.http.client import HttpClient
from tuvl.mcp.bridge import MAX_REPLY_BYTES, Refusal, bridged_client, current_refusal
from tuvl.mcp.endpoint import McpServer, process_endpoint, remote_endpoint
from tuvl.mcp.fault import McpFault
from tuvl.mcp.process import ServerProcess
from tuvl.mcp.session import CLIENT_INFO, Dispatcher, Session
from tuvl.mcp.stdio import stdio_streams
from tuvl.mcp.waiting import first_of
from tuvl.mcp.wording import refused, rejected, says_lost
from tuvl.spec.artifact import RemoteServer, StdioServer
from tuvl.values import JsonObject, number_text

_log = logging.getLogger("tuvl.mcp")

_LAST_WORDS_S = 0.5
"""How long a process that has closed its output may take to exit with a code, in seconds."""


class SessionOwner:
    """Opens one session when it is made. Contexts are entered and left in one task; calls only exchange messages."""

    def __init__(
        self, server: McpServer, *, environ: Mapping[str, str], http: HttpClient, connect_timeout_s: float
    ) -> None:
        self._server = server
        self._environ = environ
        self._http = http
        self._connect_timeout_s = connect_timeout_s
        self._process: ServerProcess | None = None
        self._closing = asyncio.Event()
        self.name = f"MCP server {server.reference!r}"
        self.ready: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
        """The session once it is open, or why there is none."""
        self.task = asyncio.create_task(self._own(), name=self.name)

    @property
    def usable(self) -> bool:
        """Whether a call may wait for the session, or use it."""
        if self._closing.is_set():
            return False
        if not self.ready.done():
            return True
        return self.ready.exception() is None and self.ready.result().usable

    def close(self) -> None:
        """Tell the session to end; `task` is done when it has."""
        self._closing.set()
        if not self.ready.done():
            self.task.cancel()  # still connecting: there is nothing to end gracefully

    def cut(self) -> None:
        """End it by force, when it has not ended yet."""
        if self.task.done():
            return
        if self._process is not None:
            self._process.kill()
        self.task.cancel()

    async def _own(self) -> None:
        session: Session | None = None
        reason: Exception = McpFault(f"{self.name}: the connection has ended", kind="connection")
        refusal = Refusal()
        current_refusal.set(refusal)
        try:
            async with AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout(self._connect_timeout_s):
                        session = await self._connect(stack)
                except Exception as error:
                    # Asked while the process, if there is one, can still say why.
                    raise await self._explained(error, refusal) from error
                self.ready.set_result(session)
                await first_of(self._closing, session.dispatcher.ended)
                if self._process is not None and not self._closing.is_set():
                    await self._last_words(self._process)
                    reason = self._process.failure(sent=False)
                # Calls under way need not wait for the process to be cleared away.
                session.end(reason)
        except Exception as error:  # noqa: BLE001 - a server's failure, whatever its form, is the failure of its calls
            reason = await self._explained(_innermost(error), refusal)
        finally:
            if session is not None:
                session.end(reason)
            if not self.ready.done():
                self.ready.set_exception(reason)
                self.ready.exception()  # read, so that asyncio does not complain when no call waits any more

    async def _last_words(self, process: ServerProcess) -> None:
        """Give a process that has closed its output the time to exit with a code."""
        if not process.oversized:
            await first_of(process.exited, timeout_s=_LAST_WORDS_S)

    async def _connect(self, stack: AsyncExitStack) -> Session:
        dispatcher = await stack.enter_async_context(self._dispatcher())
        client = await stack.enter_async_context(ClientSession(dispatcher=dispatcher, client_info=CLIENT_INFO))
        session = Session(client=client, dispatcher=dispatcher)
        await session.greet()
        await session.list_tools()
        return session

    @asynccontextmanager
    async def _dispatcher(self) -> AsyncIterator[Dispatcher]:
        match self._server.spec:
            case StdioServer() as spec:
                endpoint = process_endpoint(self._server, spec, self._environ)
                self._process = await ServerProcess.start(self.name, endpoint)
                async with stdio_streams(self.name, self._process) as (reads, writes):
                    yield Dispatcher(reads, writes)
            case RemoteServer(transport="sse") as spec:
                remote = remote_endpoint(self._server, spec, self._environ)
                async with sse_client(remote.url, dict(remote.headers), httpx_client_factory=self._client) as streams:
                    yield Dispatcher(*streams)
            case RemoteServer() as spec:
                remote = remote_endpoint(self._server, spec, self._environ)
                async with (
                    self._client(dict(remote.headers)) as client,
                    streamable_http_client(
                        remote.url, http_client=client, max_sse_event_size=MAX_REPLY_BYTES
                    ) as streams,
                ):
                    yield Dispatcher(*streams)

    def _client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        """Make a client the way the SDK asks for one; its timeouts are ours, and of authentication we have headers."""
        return bridged_client(self._http, self._server.policy, headers or {})

    async def _explained(self, error: Exception, refusal: Refusal) -> Exception:
        if isinstance(error, McpFault | ConfigError):
            return error
        process = self._process
        if process is not None and isinstance(error, MCPError) and says_lost(error):
            await self._last_words(process)
            return process.failure(sent=False)
        if refusal.status is not None or refusal.fault is not None:
            return refused(self.name, "the greeting", refusal)
        if isinstance(error, TimeoutError):
            tail = process.stderr_tail() if process is not None else ""
            detail: JsonObject = {"stderr": tail} if tail else {}
            told = process.heard() if process is not None else ""
            message = f"{self.name} was not ready within {number_text(self._connect_timeout_s)} s{told}"
            return McpFault(message, kind="timeout", detail=detail)
        if isinstance(error, MCPError):
            return rejected(self.name, "the greeting", error)
        _log.debug("%s: no session", self.name, exc_info=error)
        return McpFault(f"{self.name} does not speak the protocol ({type(error).__name__})", kind="bad_response")


def _innermost(error: Exception) -> Exception:
    """Take an error out of the groups that the SDK's task groups have put around it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
