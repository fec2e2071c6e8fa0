"""One open session with a server: the greeting, the list of tools, and calls as plain JSON."""

import asyncio
import logging
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import field
from typing import Any, cast

import mcp_types
from anyio import TASK_STATUS_IGNORED
from anyio.abc import TaskStatus
from mcp.client.session import ClientSession
from mcp.shared.dispatcher import CallOptions, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION, RequestId

import tuvl
from tuvl.dataclass import dataclass
from tuvl.values import JsonObject, JsonValue

_log = logging.getLogger("tuvl.mcp")

MOST_PAGES = 100
"""Pages of `tools/list` that are read; a server that never ends its list is taken at its first hundred."""

CLIENT_INFO = mcp_types.Implementation(name="tuvl", version=tuvl.__version__)

_last_result: ContextVar[JsonObject | None] = ContextVar("last_result", default=None)


class Dispatcher(JSONRPCDispatcher):
    """The SDK's dispatcher, which keeps each result as it came and says when the connection has ended."""

    def __init__(self, *streams: Any) -> None:
        super().__init__(*streams)
        self.ended = asyncio.Event()

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        *,
        _related_request_id: RequestId | None = None,
    ) -> dict[str, Any]:
        """Send a request and return its result."""
        result = await super().send_raw_request(method, params, opts, _related_request_id=_related_request_id)
        _last_result.set(cast(JsonObject, result))
        return result

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: TaskStatus[None] = TASK_STATUS_IGNORED,
    ) -> None:
        """Drive the connection until it ends."""
        try:
            await super().run(on_request, on_notify, on_notify_intercept, task_status=task_status)
        finally:
            self.ended.set()


@dataclass(slots=True)
class Session:
    """An open session."""

    client: ClientSession
    dispatcher: Dispatcher
    tools: dict[str, JsonObject] | None = None
    """Tool name → its listing; `None` when the server gives no list."""
    over: "asyncio.Future[Exception]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Why the session has ended, once it has."""

    @property
    def usable(self) -> bool:
        """Whether a call may be sent."""
        return not self.over.done() and not self.dispatcher.ended.is_set()

    def end(self, reason: Exception) -> None:
        """Say why the session has ended; said twice, the first reason stands."""
        if not self.over.done():
            self.over.set_result(reason)

    async def greet(self) -> None:
        """Agree on a protocol version: the handshake that all servers know, else what came after it."""
        try:
            await self.client.initialize()
        except MCPError as error:
            if error.code not in {UNSUPPORTED_PROTOCOL_VERSION, METHOD_NOT_FOUND}:
                raise
            await self.client.discover()

    async def list_tools(self) -> None:
        """Read the whole list of tools, page by page."""
        tools: dict[str, JsonObject] = {}
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(MOST_PAGES):
            try:
                page = await self._page(cursor)
            except MCPError as error:
                if error.code != METHOD_NOT_FOUND:
                    raise
                self.tools = None
                return
            for tool in _list(page.get("tools")):
                name = tool.get("name") if isinstance(tool, dict) else None
                if isinstance(tool, dict) and isinstance(name, str):
                    tools.setdefault(name, tool)
            following = page.get("nextCursor")
            if not isinstance(following, str) or following in seen:
                break
            seen.add(following)
            cursor = following
        self.tools = tools

    async def _page(self, cursor: str | None) -> JsonObject:
        params = None if cursor is None else mcp_types.PaginatedRequestParams(cursor=cursor)
        _last_result.set(None)
        try:
            await self.client.list_tools(params=params)
        except ValueError:  # pydantic's, when the page does not have the form of one
            # One tool with an odd schema must not hide all the others.
            _log.debug("a list of tools does not fit the protocol; taken as it is")
        return _last_result.get() or {}

    async def call_tool(self, name: str, arguments: JsonObject) -> JsonObject:
        """Call a tool and return its result as it came."""
        params = mcp_types.CallToolRequestParams(name=name, arguments=arguments)
        _last_result.set(None)
        try:
            # Not `call_tool` of the SDK: it quotes what it found wrong with a result, and lists tools on its own.
            await self.client.send_request(mcp_types.CallToolRequest(params=params), mcp_types.CallToolResult)
        except ValueError:  # pydantic's, see above
            _log.debug("a result does not fit the protocol; taken as it is")
        return _last_result.get() or {}


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
