"""Builders for tests of MCP: a pool and one server, and what is left when it is closed."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tuvl.http.address import AddressPolicy
from tuvl.http.client import HttpClient
from tuvl.mcp.endpoint import McpServer
from tuvl.mcp.pool import McpPool
from tuvl.mcp.reply import McpReply
from tuvl.spec.artifact import RemoteServer, StdioServer

ODD = Path(__file__).parents[1] / "support" / "odd_mcp_server.py"


def odd_server(
    *habits: str, name: str = "odd", folder: Path | str = ".", env: Mapping[str, str] | None = None
) -> McpServer:
    spec = StdioServer(
        type="mcp", transport="stdio", command=sys.executable, args=(str(ODD), *habits), env=dict(env or {})
    )
    return stdio_server(spec, name=name, folder=folder)


def stdio_server(spec: StdioServer, *, name: str = "odd", folder: Path | str = ".") -> McpServer:
    return McpServer(
        reference=f"artifact://{name}@1", spec=spec, folder=str(folder), policy=AddressPolicy(deny_private=True)
    )


def remote_server(
    url: str, *, transport: str = "http", headers: Mapping[str, str] | None = None, allowed: bool = True
) -> McpServer:
    spec = RemoteServer(type="mcp", transport=transport, url=url, headers=dict(headers or {}))
    policy = AddressPolicy(allow_hosts=("127.0.0.1",) if allowed else ())
    return McpServer(reference="artifact://remote@1", spec=spec, folder=".", policy=policy)


@dataclass
class Caller:
    """Calls one server through a pool."""

    pool: McpPool
    server: McpServer
    pids: list[int] = field(default_factory=list)

    async def __call__(self, tool: str, _timeout_s: float = 20.0, **arguments: object) -> McpReply:
        return await self.pool.call(self.server, tool, arguments, timeout_s=_timeout_s)

    async def pid(self) -> int:
        found = int((await self("pid")).text)
        self.pids.append(found)
        return found


@asynccontextmanager
async def calling(
    server: McpServer, *, environ: Mapping[str, str] | None = None, connect_timeout_s: float = 20.0
) -> AsyncIterator[Caller]:
    """Give a caller; afterwards no task and none of the processes it has met may be left."""
    before = asyncio.all_tasks()
    http = HttpClient()
    pool = McpPool(environ=os.environ if environ is None else environ, http=http, connect_timeout_s=connect_timeout_s)
    caller = Caller(pool, server)
    try:
        yield caller
    finally:
        await pool.aclose()
        await http.aclose()
        left = [task for task in asyncio.all_tasks() - before - {asyncio.current_task()} if not of_test_server(task)]
        assert not left, f"a task outlived the pool: {left}"
        assert not [pid for pid in caller.pids if alive(pid)], "a process outlived the pool"


def of_test_server(task: asyncio.Task) -> bool:
    """Whether a task belongs to the HTTP server of a test, which ends when the test does."""
    return "serving." in task.get_coro().__qualname__


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):  # the second when it goes while its file is read
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}
