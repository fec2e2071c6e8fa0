"""What a step writes into the context with text from outside."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from tuvl.dataclass import dataclass

SourceKind: TypeAlias = Literal["input", "reply", "answer", "person", "copy"]

When: TypeAlias = Literal["done", "failed", "running", "called"]
"""Once the step is done, when it has failed, at any time while it runs, or for the body of a list alone."""

Path: TypeAlias = tuple[str, ...]

OTHERS = "\0others"
"""Stands for all keys that a spill does not name: a JSON answer may bring any of them."""

_BELOW = "args\0"


@dataclass(frozen=True, slots=True)
class Spill:
    """A key that a step writes with text from outside."""

    key: str
    kind: SourceKind
    sources: tuple[Path, ...] = ()
    """For a copy, the dotted reads it is made of."""
    schema: Mapping[str, Any] | None = None
    """What is known of the parts of the value."""
    alias: Path = ()
    """For a copy, the dotted path of which it is the whole value; a number stands for any item of a list."""
    when: When = "done"
    but: frozenset[str] = frozenset()
    """For `OTHERS`, the keys that are not among them."""

    def writes(self, name: str) -> bool:
        """Whether it may write a key."""
        if self.key != OTHERS:
            return self.key == name
        return name not in self.but and not name.startswith(("_", "\0", _BELOW))


def argument_key(name: str) -> str:
    """The key that stands for one argument of a call, as it is read below `args`."""
    return _BELOW + name


def read_key(path: Path) -> tuple[str, Path]:
    """The key that a dotted path reads, and the path below it."""
    if path[0] == "args" and len(path) > 1:
        return argument_key(path[1]), path[2:]
    return path[0], path[1:]


def named(key: str) -> str:
    """How a message calls a key."""
    return repr(key.replace(_BELOW, "args."))
