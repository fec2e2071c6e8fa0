"""An offering of tools served to MCP clients, over stdio or HTTP, by the official SDK."""

import asyncio
import socket

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

import tuvl
from tuvl.listening import http_server, is_loopback, url_of
from tuvl.mcp.offer import OfferedTool, Offering
from tuvl.mcp.own_pipes import own_streams
from tuvl.mcp.quiet import hush
from tuvl.suggest import did_you_mean
from tuvl.values import shorten

PATH = "/mcp"
"""Path of the endpoint over HTTP."""

_LAST_REQUESTS_S = 5
"""How long requests under way may take to end when the server does, in seconds."""

hush()


async def serve_stdio(offering: Offering, *, name: str, stop: asyncio.Event) -> None:
    """Serve one client over stdin and stdout, until it closes them or `stop` is set."""
    server = _server(offering, name)
    async with own_streams() as (reads, writes):
        serving = asyncio.create_task(server.run(reads, writes, server.create_initialization_options()))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            serving.cancel()
            await asyncio.gather(serving, stopping, return_exceptions=True)


def address_of(listening: socket.socket) -> str:
    """Return the URL of the endpoint behind a bound socket."""
    return f"{url_of(listening)}{PATH}"


async def serve_http(offering: Offering, *, name: str, stop: asyncio.Event, listening: socket.socket) -> None:
    """Serve clients over streamable HTTP until `stop` is set.

    Only requests that name the host that is listened on, or a loopback one, are answered: a page in a browser must
    not reach the tools under a name of its own.
    """
    host = listening.getsockname()[0]
    app = _server(offering, name).streamable_http_app(
        streamable_http_path=PATH, host=host, transport_security=_security(host)
    )
    server = http_server(app, last_requests_s=_LAST_REQUESTS_S)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        server.should_exit = True
        await asyncio.gather(serving, stopping, return_exceptions=True)
        listening.close()


def _security(host: str) -> TransportSecuritySettings:
    names = ["127.0.0.1", "localhost", "[::1]"]
    if not is_loopback(host):
        names.append(f"[{host}]" if ":" in host else host)
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{name}:*" for name in names],
        allowed_origins=[f"http://{name}:*" for name in names],
    )


def _server(offering: Offering, name: str) -> Server[object]:
    listed = [_listed(tool) for tool in offering.tools]

    async def list_tools(
        context: ServerRequestContext[object], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def call_tool(context: ServerRequestContext[object], params: CallToolRequestParams) -> CallToolResult:
        try:
            reply = await offering.call(params.name, params.arguments)
        except KeyError:
            hint = did_you_mean(params.name, [tool.name for tool in offering.tools])
            said = f"Unknown tool: {shorten(params.name, 64)}" + (f" ({hint})" if hint else "")
            raise MCPError(INVALID_PARAMS, said) from None
        return CallToolResult(
            content=[TextContent(type="text", text=reply.text)],
            structured_content=reply.structured,
            is_error=reply.failed,
        )

    return Server(
        name,
        version=tuvl.__version__,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _listed(tool: OfferedTool) -> Tool:
    return Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema,
        annotations=ToolAnnotations(read_only_hint=tool.read_only),
    )
