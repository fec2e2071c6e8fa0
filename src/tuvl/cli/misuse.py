"""What Typer says of a wrong word, in the words of the other commands."""

import re
from collections.abc import Sequence

from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import Typer, get_command

from tuvl.suggest import did_you_mean

_CHOICE = re.compile(
    r"Invalid value for '(?P<option>-[^']*)': (?:Value error, )?'(?P<value>.*)' is not one of (?P<among>.*)\."
)
_OPTION = re.compile(r"No such option: (?P<option>\S+)")


def in_our_words(error: TyperException, app: Typer, words: Sequence[str]) -> str:
    """Return the message for a command line that Typer refused."""
    said = error.format_message()
    if said.startswith("Usage:"):
        return said  # a command that does nothing without arguments: its help
    path, options = _command(app, words)
    choice = _CHOICE.fullmatch(said)
    if choice is not None:
        among = re.findall(r"'([^']*)'", choice["among"])
        hint = did_you_mean(choice["value"], among) or f"it takes {', '.join(among)}"
        return f"{path}: {choice['option']} does not take {choice['value']!r}; {hint}"
    option = _OPTION.match(said)
    if option is not None:
        hint = did_you_mean(option["option"], options) or f"`{path} --help` lists them"
        return f"{path}: `{path}` has no option {option['option']!r}; {hint}"
    told = f"{path}: {said[:1].lower()}{said[1:].removesuffix('.')}"
    return told if told.endswith("?") else f"{told}; `{path} --help` says more"


def _command(app: Typer, words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the command that words begin with, as it is written, and its options."""
    path, command = "tuvl", get_command(app)
    for word in words:
        inner = command.commands.get(word) if isinstance(command, TyperGroup) else None
        if inner is None:
            break
        path, command = f"{path} {word}", inner
    return path, sorted(name for param in command.params for name in param.opts if name.startswith("--"))
