"""How an MCP server is reached: what its artifact says, and the same with the variables of the environment put in."""

from collections.abc import Mapping

from tuvl.dataclass import dataclass
from tuvl.errors import ConfigError
from tuvl.http.address import AddressPolicy
from tuvl.http.headers import header_problem
from tuvl.redaction import register_secret
from tuvl.spec.artifact import RemoteServer, StdioServer
from tuvl.spec.variables import expand, variables
from tuvl.values import JsonValue

INHERITED = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    # What a process on Windows cannot start without.
    "APPDATA",
    "COMSPEC",
    "LOCALAPPDATA",
    "PATHEXT",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE",
)
"""Variables that a server started as a process gets without being asked; every other one is declared under `env:`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A server as a plan holds it; nothing of the environment is in it yet."""

    reference: str
    """The pinned reference of its artifact: the server's identity within a run, and its name in messages."""
    spec: StdioServer | RemoteServer
    folder: str
    """The project's root: where a process is started, so that relative paths mean the same everywhere."""
    policy: AddressPolicy
    """Where connections may go; a process is not bound by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEndpoint:
    """A server to be started: words of the command line, the whole environment, the working directory."""

    command: tuple[str, ...]
    environ: Mapping[str, str]
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteEndpoint:
    """A server to be called over HTTP."""

    url: str
    headers: Mapping[str, str]


def process_endpoint(server: McpServer, spec: StdioServer, environ: Mapping[str, str]) -> ProcessEndpoint:
    """Put the variables in; raises `ConfigError` for one that has neither a value nor a default."""
    command = _text(server, "command", spec.command, environ)
    args = [_text(server, f"args[{index}]", arg, environ) for index, arg in enumerate(spec.args)]
    declared = {name: _text(server, f"env.{name}", value, environ) for name, value in spec.env.items()}
    given = {name: environ[name] for name in INHERITED if name in environ}
    # A shell exports functions as variables that begin like this; no server needs them.
    given = {name: value for name, value in given.items() if not value.startswith("()")}
    return ProcessEndpoint(command=(command, *args), environ={**given, **declared}, folder=server.folder)


def remote_endpoint(server: McpServer, spec: RemoteServer, environ: Mapping[str, str]) -> RemoteEndpoint:
    """Put the variables in; raises `ConfigError` for one without a value, and for headers that no call may set."""
    for name in spec.headers:
        problem = header_problem(name)
        if problem is not None:
            raise ConfigError(f"{server.reference!r} field 'spec.headers': header {name!r} {problem}")
    headers = {name: _text(server, f"headers.{name}", value, environ).strip() for name, value in spec.headers.items()}
    return RemoteEndpoint(url=_text(server, "url", spec.url, environ).strip(), headers=headers)


def _text(server: McpServer, field: str, text: str, environ: Mapping[str, str]) -> str:
    # Any of these fields may carry a key: a header, a variable, an argument, the query of a URL.
    for variable in variables(text):
        if variable.name in environ and variable.name not in INHERITED:
            register_secret(environ[variable.name])
    value: JsonValue = expand(text, environ=environ, where=f"{server.reference!r} field 'spec.{field}'")
    if not isinstance(value, str) or "\0" in value:
        raise ConfigError(f"{server.reference!r} field 'spec.{field}' holds a NUL character")
    return value
