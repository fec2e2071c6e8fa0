"""The npm server `server-everything`, over each of its transports."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.ports import kept_port

_PROGRAM = Path(sys.prefix) / "node" / "node_modules" / ".bin" / "mcp-server-everything"


def program() -> str:
    """Return the server's command; a test that needs it fails where it is not installed, and says what to do."""
    if not _PROGRAM.exists():
        pytest.fail("server-everything is not installed: install Node.js 20 or newer with npm, then run `make test`")
    return str(_PROGRAM)


@asynccontextmanager
async def serving_everything(kind: str) -> AsyncIterator[str]:
    """Run the server, `streamableHttp` or `sse`, and give the URL of its endpoint."""
    with kept_port() as port:
        process = await asyncio.create_subprocess_exec(
            program(),
            kind,
            env={**os.environ, "PORT": str(port)},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        try:
            async with asyncio.timeout(30):
                while f"port {port}" not in (line := (await process.stderr.readline()).decode()):
                    assert line, "the server ended before it was ready"
            reading = asyncio.create_task(process.stderr.read())
            yield f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"
            process.kill()
            await reading
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
