"""How an MCP server is started, and what that hands to others."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.fault import Fault
from tuvl.analysis.steps import items, mapping, text

_SHELLS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh", "busybox", "cmd", "cmd.exe", "powershell", "pwsh"}
)
_WHOLE = re.compile(r"^\$\{?(?:\*|@|ENV(?:IRON(?:MENT)?)?)\}?$", re.IGNORECASE)


def doubtful_starts(data: Mapping[str, Any]) -> Iterator[Fault]:
    """Servers started through a shell, from a relative path, or with the whole environment."""
    spec = mapping(data.get("spec"))
    command = text(spec.get("command"))
    if spec.get("type") != "mcp" or command is None:
        return
    program = command.split()[0] if command.split() else ""
    base = re.split(r"[/\\]", program)[-1].lower().removesuffix(".exe")
    arguments = [argument for argument in items(spec.get("args")) if isinstance(argument, str)]
    path = ("spec", "command")
    if base in _SHELLS or (base == "env" and any(argument.split("/")[-1] in _SHELLS for argument in arguments)):
        yield Fault(
            path,
            f"the server is started through the shell {base!r}, which reads its arguments as a program",
            "name the program itself as `command`, and its arguments one by one in `args`",
        )
    elif ("/" in program or "\\" in program) and not _is_absolute(program) and "${" not in program:
        yield Fault(
            path,
            f"the server is started from the relative path {program!r}: what that is depends on the folder",
            "write an absolute path, or the name of a program on the path",
        )
    for name, value in mapping(spec.get("env")).items():
        if name in ("*", "inherit") or (isinstance(value, str) and _WHOLE.match(value)):
            yield Fault(
                ("spec", "env", name),
                "the server is given the whole environment, every credential in it included",
                "name the variables it needs one by one: `NAME: ${NAME}`",
            )


def _is_absolute(program: str) -> bool:
    return program.startswith(("/", "\\\\", "~")) or re.match(r"[A-Za-z]:[/\\]", program) is not None
