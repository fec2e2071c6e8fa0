"""Asks the MCP servers of a project for the tools that its workflows call."""

import asyncio
from collections.abc import Mapping, Sequence

from tuvl.artifacts.reference import SCHEME
from tuvl.errors import ConfigError, TuvlError
from tuvl.http.client import HttpClient
from tuvl.locking.tools import ToolSchema, UsedTool
from tuvl.mcp.pool import McpPool
from tuvl.plan.compile_mcp import server_in
from tuvl.project.index import ProjectIndex
from tuvl.suggest import did_you_mean
from tuvl.values import JsonObject, json_size

MOST_BYTES = 512 * 1024
"""Most bytes of one tool's description and schemas; who should review more?"""


def ask_servers(
    project: ProjectIndex, used: Sequence[UsedTool], *, environ: Mapping[str, str], timeout_s: float
) -> dict[str, dict[str, ToolSchema]]:
    """Ask each server once, all at a time, for the tools that are called; servers that none is called of are let be.

    A server may take `timeout_s` seconds to start, to greet and to list its tools. Raises `ConfigError` that names
    every server which gives no answer, and every tool which its server does not have.
    """
    return asyncio.run(_ask(project, used, environ, timeout_s))


async def _ask(
    project: ProjectIndex, used: Sequence[UsedTool], environ: Mapping[str, str], timeout_s: float
) -> dict[str, dict[str, ToolSchema]]:
    servers = list(dict.fromkeys(tool.server for tool in used))
    http = HttpClient()
    pool = McpPool(environ=environ, http=http, connect_timeout_s=timeout_s)
    try:
        listings = await asyncio.gather(*(_listing(server, project, pool) for server in servers))
    finally:
        await pool.aclose()
        await http.aclose()
    offered = dict(zip(servers, listings, strict=True))
    faults = [str(listing) for listing in listings if isinstance(listing, TuvlError)]
    if faults:
        raise ConfigError("; ".join(faults))
    return {
        server: _schemas(server, [tool.tool for tool in used if tool.server == server], listing)
        for server, listing in offered.items()
        if not isinstance(listing, TuvlError)
    }


async def _listing(server: str, project: ProjectIndex, pool: McpPool) -> Mapping[str, JsonObject] | TuvlError:
    try:
        return await pool.tools(server_in(project, f"{SCHEME}{server}"))
    except TuvlError as error:
        return error


def _schemas(server: str, wanted: Sequence[str], listing: Mapping[str, JsonObject]) -> dict[str, ToolSchema]:
    found: dict[str, ToolSchema] = {}
    for tool in dict.fromkeys(wanted):
        if tool not in listing:
            hint = did_you_mean(tool, listing) or f"it has {', '.join(sorted(listing)) or 'none'}"
            raise ConfigError(f"MCP server {SCHEME + server!r} has no tool {tool!r}; {hint}")
        if json_size(listing[tool]) > MOST_BYTES:
            raise ConfigError(
                f"MCP server {SCHEME + server!r} says more of its tool {tool!r} than the {MOST_BYTES // 1024} KiB that "
                "are locked of one"
            )
        found[tool] = ToolSchema.of(listing[tool])
    return found
