"""How an MCP server is started, and what that hands to others."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.fault import Fault
from tuvl.analysis.steps import items, mapping, text

_SHELLS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh", "busybox", "cmd", "cmd.exe", "powershell", "pwsh"}
)
_LAUNCHERS = frozenset(
    {
        "env",
        "sudo",
        "doas",
        "nohup",
        "xargs",
        "nice",
        "ionice",
        "timeout",
        "setsid",
        "stdbuf",
        "time",
        "chroot",
        "unshare",
    }
)
"""Programs that start another one, which their arguments name."""
_INLINE = {
    "python": frozenset({"-c"}),
    "node": frozenset({"-e", "--eval", "-p", "--print"}),
    "deno": frozenset({"eval"}),
    "bun": frozenset({"-e", "--eval"}),
    "perl": frozenset({"-e", "-E"}),
    "ruby": frozenset({"-e"}),
    "php": frozenset({"-r"}),
}
"""Interpreters, and what they are told to take a program from their arguments by."""
_VERSION = re.compile(r"[0-9.]+$")
_OWN_SHELL = re.compile(r"^\$\{?(?:SHELL|COMSPEC)(?::[^}]*)?\}?$", re.IGNORECASE)
_WHOLE = re.compile(r"^\$\{?(?:\*|@|ENV(?:IRON(?:MENT)?)?)\}?$", re.IGNORECASE)


def doubtful_starts(data: Mapping[str, Any]) -> Iterator[Fault]:
    """Servers started through a shell, from a relative path, or with the whole environment."""
    spec = mapping(data.get("spec"))
    command = text(spec.get("command"))
    if spec.get("type") != "mcp" or command is None:
        return
    program = command.split()[0] if command.split() else ""
    arguments = [argument for argument in items(spec.get("args")) if isinstance(argument, str)]
    shell = _reads_a_program([*command.split(), *arguments])
    path = ("spec", "command")
    if shell is not None:
        yield Fault(
            path,
            f"the server is started through {shell}, which reads its arguments as a program",
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


def _reads_a_program(words: list[str]) -> str | None:
    """What takes a program from a command line: a shell, or an interpreter that is told to."""
    for at, word in enumerate(words):
        base = _base(word)
        if base in _SHELLS or _OWN_SHELL.match(word):
            return f"the shell {base!r}"
        inline = _INLINE.get(_VERSION.sub("", base), frozenset[str]())
        if not inline.isdisjoint(_own_options(words[at + 1 :])):
            return f"the interpreter {base!r}"
        if at == 0 and base not in _LAUNCHERS:
            return None  # what follows is the program's own
    return None


def _own_options(words: list[str]) -> list[str]:
    """The options of an interpreter: those before the first word that is none, which is its file, and a command."""
    until = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    return words[: until + 1]


def _base(word: str) -> str:
    return re.split(r"[/\\]", word)[-1].lower().removesuffix(".exe")


def _is_absolute(program: str) -> bool:
    return program.startswith(("/", "\\\\", "~")) or re.match(r"[A-Za-z]:[/\\]", program) is not None
