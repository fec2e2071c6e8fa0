"""The link to one server for one run: calls its tools, in a session that is opened when it is needed."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from mcp.shared.exceptions import MCPError

from tuvl.http.client import HttpClient
from tuvl.mcp.bridge import Refusal, current_refusal
from tuvl.mcp.endpoint import McpServer
from tuvl.mcp.fault import McpFault
from tuvl.mcp.owner import SessionOwner
from tuvl.mcp.quiet import hush
from tuvl.mcp.reply import McpReply, read_reply
from tuvl.mcp.session import Session
from tuvl.mcp.wording import CLOSED, lost, no_such_tool, refused, rejected, says_lost
from tuvl.spec.artifact import RemoteServer
from tuvl.values import JsonObject, number_text

_log = logging.getLogger("tuvl.mcp")

_ABANDON_S = 1.0
"""How long a cancelled call may take to tell its server, in seconds."""
_LAST_NEWS_S = 1.0
"""How long a lost call waits to learn why, in seconds."""

hush()


class ServerLink:
    """Calls the tools of one server."""

    def __init__(
        self, server: McpServer, *, environ: Mapping[str, str], http: HttpClient, connect_timeout_s: float
    ) -> None:
        self._server = server
        self._name = f"MCP server {server.reference!r}"
        self._environ = environ
        self._http = http
        self._connect_timeout_s = connect_timeout_s
        # Over server-sent events a reply comes by another way than the refusal of its request.
        self._loses_refusals = isinstance(server.spec, RemoteServer) and server.spec.transport == "sse"
        self._current: SessionOwner | None = None
        self._owners: set[SessionOwner] = set()
        self._abandoned: set[asyncio.Task[JsonObject]] = set()

    async def call(self, tool: str, arguments: JsonObject, *, timeout_s: float) -> McpReply:
        """Call a tool; raises `McpFault`, or `ConfigError` when the artifact cannot be used here."""
        owner, session = await self._open()
        schema = await self._output_schema(session, tool)
        refusal = Refusal()
        try:
            result = await self._exchange(session, tool, arguments, timeout_s, refusal)
        except McpFault:
            if not (refusal.status == 404 and refusal.in_session):
                raise
            # The server has forgotten the session, and so refused the call unread: this is no repetition.
            owner.close()
            owner, session = await self._open()
            result = await self._exchange(session, tool, arguments, timeout_s, Refusal())
        if result.get("resultType") == "input_required":
            message = f"{self._name}: tool {tool!r} asks for more input, which a step cannot give"
            raise McpFault(message, kind="rejected", sent=True)
        return read_reply(result, output_schema=schema)

    async def tools(self) -> Mapping[str, JsonObject]:
        """Return the tools of the server by name; raises `McpFault`, or `ConfigError` when it cannot be used here."""
        _, session = await self._open()
        if session.tools is None:
            raise McpFault(f"{self._name} gives no list of its tools", kind="rejected")
        return dict(session.tools)

    def close(self) -> list[asyncio.Task[None]]:
        """Tell every session to end; returns the tasks that are done when they have."""
        for owner in self._owners:
            owner.close()
        for call in self._abandoned:
            call.cancel()
        return [owner.task for owner in self._owners]

    def cut(self) -> None:
        """End what has not ended by itself, by force."""
        for owner in self._owners:
            owner.cut()

    async def _open(self) -> tuple[SessionOwner, Session]:
        owner = self._current
        if owner is None or not owner.usable:
            owner = self._current = SessionOwner(
                self._server, environ=self._environ, http=self._http, connect_timeout_s=self._connect_timeout_s
            )
            self._owners.add(owner)
            owner.task.add_done_callback(lambda _: self._forget_owners())
        # Others may wait for the same session: a call that is cancelled must not take it from them.
        return owner, await asyncio.shield(owner.ready)

    def _forget_owners(self) -> None:
        self._owners = {owner for owner in self._owners if not owner.task.done()}

    async def _output_schema(self, session: Session, tool: str) -> JsonObject | None:
        """Look the tool up; raises `McpFault` with near names when the server has none of that name."""
        if session.tools is not None and tool not in session.tools:
            await self._list_again(session)
        if session.tools is None:
            return None
        listing = session.tools.get(tool)
        if listing is None:
            raise no_such_tool(self._name, tool, session.tools)
        schema = listing.get("outputSchema")
        return schema if isinstance(schema, dict) else None

    async def _list_again(self, session: Session) -> None:
        """Read the list anew: tools may come and go while a server runs."""
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                await session.list_tools()
        except (TimeoutError, MCPError) as error:
            _log.debug("%s: no new list of tools", self._name, exc_info=error)

    async def _exchange(
        self, session: Session, tool: str, arguments: JsonObject, timeout_s: float, refusal: Refusal
    ) -> JsonObject:
        what = f"the call of {tool!r}"
        token = current_refusal.set(refusal)
        try:
            call = asyncio.create_task(session.call_tool(tool, arguments))
            noted = asyncio.create_task(refusal.noted.wait())
        finally:
            current_refusal.reset(token)
        waited: set[asyncio.Future[Any]] = {call, session.over}
        if self._loses_refusals:
            waited.add(noted)
        try:
            await asyncio.wait(waited, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            noted_in_time = noted.done()
            noted.cancel()
            answered = call.done()
            if not answered:
                await self._abandon(call)
            await asyncio.gather(noted, return_exceptions=True)
        if answered:
            return await self._outcome(call, session, refusal, what)
        if session.over.done():
            raise lost(session.over.result())
        if self._loses_refusals and noted_in_time:
            raise refused(self._name, what, refusal)
        raise McpFault(
            f"{self._name} did not answer {what} within {number_text(timeout_s)} s", kind="timeout", sent=True
        )

    async def _abandon(self, call: "asyncio.Task[JsonObject]") -> None:
        """Cancel a call: the SDK tells the server, once, and drops a late reply."""
        self._abandoned.add(call)
        call.add_done_callback(self._forget_call)
        call.cancel()
        await asyncio.wait((call,), timeout=_ABANDON_S)

    def _forget_call(self, call: "asyncio.Task[JsonObject]") -> None:
        self._abandoned.discard(call)
        if not call.cancelled():
            call.exception()

    async def _outcome(
        self, call: "asyncio.Task[JsonObject]", session: Session, refusal: Refusal, what: str
    ) -> JsonObject:
        try:
            return call.result()
        except MCPError as error:
            if refusal.status is not None or refusal.fault is not None:
                raise refused(self._name, what, refusal, error) from error
            if not says_lost(error):
                raise rejected(self._name, what, error) from error
            await asyncio.wait((session.over,), timeout=_LAST_NEWS_S)
            if session.over.done():
                raise lost(session.over.result()) from error
            if session.usable and error.message == CLOSED:
                raise rejected(self._name, what, error) from error  # the server's own words after all
            message = f"{self._name}: the connection was lost during {what}"
            raise McpFault(message, kind="connection", sent=True) from error
        except Exception as error:
            _log.debug("%s: %s failed", self._name, what, exc_info=error)
            message = f"{self._name}: the answer to {what} cannot be read ({type(error).__name__})"
            raise McpFault(message, kind="bad_response", sent=True) from error
