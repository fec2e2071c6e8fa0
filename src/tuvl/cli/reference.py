"""Makes `docs/cli.md` from the Typer app: `python -m tuvl.cli.reference > docs/cli.md`."""

import sys

from typer.core import TyperGroup
from typer.main import get_command

from tuvl.cli.app import app

_HEAD = """# Command line

Made from the program itself by `make docs`; do not edit.

Data goes to stdout, everything for people to stderr. Colour comes only on a terminal, and not with `NO_COLOR`.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | findings, or the run failed |
| 2 | misuse, or an unreadable file |
| 3 | the run is suspended |
| 4 | the run was aborted; after SIGTERM it gave its result, and a second SIGTERM ends the process at once, with 143 |
| 130 | after Ctrl-C: the run was stopped and gave its result; a second Ctrl-C stops at once |

`validate`, `run`, `test`, `lock` and `ship` check: a file that is no YAML is one with findings to them (1). To every
other command that needs what is in it, it is an unreadable one (2).

Output that cannot be written (a full disk) is said on stderr, whatever `--events` says, with exit code 1. A reader that
has gone away and a stdout that is closed want no output, which is no failure. A list without entries is empty on
stdout; why it is stands on stderr.
"""
_COLUMNS = 100


def reference() -> str:
    """Return the page: the help of the program and of each command, as it prints them."""
    group = get_command(app)
    if not isinstance(group, TyperGroup):
        raise TypeError("the app has no commands")
    context = group.make_context("tuvl", [], resilient_parsing=True, terminal_width=_COLUMNS)
    sections = [_section("tuvl", group.get_help(context))]
    groups = [("tuvl", group, context)]
    for path, each, parent in groups:  # it grows: a command may be a group of commands
        for name, command in each.commands.items():
            inner = command.make_context(name, [], parent=parent, resilient_parsing=True, terminal_width=_COLUMNS)
            sections.append(_section(f"{path} {name}", command.get_help(inner)))
            if isinstance(command, TyperGroup):
                groups.append((f"{path} {name}", command, inner))
    return "\n".join([_HEAD, *sections])


def _section(name: str, text: str) -> str:
    body = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return f"## `{name}`\n\n```text\n{body}\n```\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
