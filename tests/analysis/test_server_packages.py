"""Whether a server that is fetched when it is started is always the same one."""

import shlex

import pytest

from tuvl.analysis.server_packages import unpinned_packages

FLOATING = [
    ("npx -y @scope/server", "@scope/server"),
    ("npx -y @scope/server@latest", "@scope/server@latest"),
    ("npx -y server@^1.2.3", "server@^1.2.3"),
    ("npx -y server@1.2", "server@1.2"),
    ("npx --package server --call run-server", "server"),
    ("npx -p=server run-server", "server"),
    ("npm exec -- server", "server"),
    ("pnpm dlx server", "server"),
    ("yarn dlx server", "server"),
    ("bunx server", "server"),
    ("bun x server", "server"),
    ("uvx mcp-server-time", "mcp-server-time"),
    ("uvx mcp-server-time>=1", "mcp-server-time>=1"),
    ("uvx mcp-server-time@latest", "mcp-server-time@latest"),
    ("uvx --from mcp-server-time server", "mcp-server-time"),
    ("uvx --python 3.12 mcp-server-time", "mcp-server-time"),
    ("uvx --with tzdata mcp-server-time==1.0.0", "tzdata"),
    ("uv tool run mcp-server-time", "mcp-server-time"),
    ("pipx run mcp-server-time", "mcp-server-time"),
    ("uvx --from git+https://code.example/x.git@main server", "git+https://code.example/x.git@main"),
    ("docker run -i --rm -e KEY registry.example/server", "registry.example/server"),
    ("docker run -i --rm server:latest", "server:latest"),
    ("podman run -v /a:/b server", "server"),
    ("deno run npm:server", "npm:server"),
    ("/usr/local/bin/npx server", "server"),
    ("npx.cmd server", "server"),
]
FIXED = [
    "npx -y @scope/server@1.2.3",
    "npx -y server@v1.2.3-beta.1",
    "npx -y github:a/b#0123456789abcdef0123456789abcdef01234567",
    "npx ./server",
    "npx -y ${SERVER}",
    "npm run serve",
    "npm exec server@1.2.3",
    "uvx mcp-server-time==2026.10.1",
    "uvx mcp-server-time@2026.10.1",
    "uvx --from mcp-server-time==1.0 server",
    "uvx --from git+https://code.example/x.git@0123456789abcdef server",
    "uv run server.py",
    "uv --version",
    "pipx run mcp-server-time==1.0",
    "docker run -i --rm -e KEY=a server:1.2.3",
    "docker run --name x registry.example:5000/server@sha256:0123456789",
    "docker ps",
    "deno run npm:server@1.2.3",
    "python -m mcp_server_time",
    "node server.js",
    "npx",
]


def _faults(line: str):
    command, *args = shlex.split(line)
    spec = {"type": "mcp", "transport": "stdio", "command": command, "args": args}
    return list(unpinned_packages({"kind": "Artifact", "spec": spec})), args


@pytest.mark.parametrize(("line", "package"), FLOATING, ids=[line for line, _ in FLOATING])
def test_package_without_one_version_is_told_where_it_stands(line: str, package: str) -> None:
    (fault,), args = _faults(line)
    assert repr(package) in fault.message
    assert package in args[fault.path[-1]]


@pytest.mark.parametrize("line", FIXED)
def test_fixed_package_and_a_program_that_fetches_none_are_let_be(line: str) -> None:
    assert _faults(line)[0] == []


def test_server_that_is_reached_over_http_is_fetched_by_nobody() -> None:
    assert list(unpinned_packages({"spec": {"type": "mcp", "transport": "http", "url": "https://x.example"}})) == []


@pytest.mark.parametrize("args", [None, 7, [1, None, {}], "server"])
def test_arguments_of_no_sound_form_are_no_crash(args: object) -> None:
    list(unpinned_packages({"spec": {"type": "mcp", "command": "npx", "args": args}}))
