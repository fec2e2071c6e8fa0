"""The MCP servers of one run: each is connected when it is first called, and let go of when the run ends."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Protocol

from tuvl.errors import ConfigError
from tuvl.http.client import HttpClient
from tuvl.mcp.endpoint import McpServer
from tuvl.mcp.reply import McpReply
from tuvl.values import JsonObject

CONNECT_TIMEOUT_S = 30.0
"""How long a server may take to start, to greet and to list its tools, all together, in seconds."""

CLOSE_S = 6.0
"""How long sessions may take to end by themselves, in seconds."""
CUT_S = 2.0
"""How long they may take to let go when they are cut off, in seconds."""


class Link(Protocol):
    """The connection to one server."""

    async def call(self, tool: str, arguments: JsonObject, *, timeout_s: float) -> McpReply:
        """Call a tool; raises `McpFault` or `ConfigError`."""
        ...

    async def tools(self) -> Mapping[str, JsonObject]:
        """Return the tools of the server by name, as it lists them; raises `McpFault` or `ConfigError`."""
        ...

    def close(self) -> "Collection[asyncio.Task[None]]":
        """Tell every session to end; returns the tasks that are done when they have."""
        ...

    def cut(self) -> None:
        """End what has not ended by itself, by force."""
        ...


class McpPool:
    """One session per server and run, opened on first use. Nothing is loaded or started before that."""

    def __init__(
        self, *, environ: Mapping[str, str], http: HttpClient, connect_timeout_s: float = CONNECT_TIMEOUT_S
    ) -> None:
        self._environ = environ
        self._http = http
        self._connect_timeout_s = connect_timeout_s
        self._links: dict[str, Link] = {}

    async def call(self, server: McpServer, tool: str, arguments: JsonObject, *, timeout_s: float) -> McpReply:
        """Call a tool of a server, and never twice: a server that died is started anew for the next call only.

        `timeout_s` bounds the call; connecting, when it comes first, has a bound of its own. Raises `McpFault`, and
        `ConfigError` when the server's artifact cannot be used here.
        """
        return await self._link(server).call(tool, arguments, timeout_s=timeout_s)

    async def tools(self, server: McpServer) -> Mapping[str, JsonObject]:
        """Return the tools of a server by name, as it lists them; raises as `call` does."""
        return await self._link(server).tools()

    async def aclose(self) -> None:
        """End every session, in bounded time; no process is left behind, also when this is cancelled."""
        links, self._links = list(self._links.values()), {}
        ending = {task for link in links for task in link.close()}
        if not ending:
            return
        try:
            await asyncio.wait(ending, timeout=CLOSE_S)
        finally:
            for link in links:
                link.cut()
            left = [task for task in ending if not task.done()]
            if left:
                await asyncio.wait(left, timeout=CUT_S)

    def _link(self, server: McpServer) -> Link:
        link = self._links.get(server.reference)
        if link is None:
            link = self._links[server.reference] = self._make(server)
        return link

    def _make(self, server: McpServer) -> Link:
        # The SDK takes most of a second to load: only a run that calls a server pays for it.
        try:
            from tuvl.mcp.link import ServerLink
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"{server.reference!r}: MCP needs the package {error.name!r}; install it with pip install 'tuvl[mcp]'"
            ) from error
        return ServerLink(server, environ=self._environ, http=self._http, connect_timeout_s=self._connect_timeout_s)
