"""Values that people give from Python, checked where they give them."""

import math
from collections.abc import Iterable, Sequence

from tuvl.errors import UsageError


def positive(where: str, name: str, value: object, *, whole: bool = False, optional: bool = False) -> None:
    """Require a finite number above 0, a whole one when asked; `None` is fine when it is optional."""
    if value is None and optional:
        return
    kinds = int if whole else (int, float)
    number = value if isinstance(value, kinds) and not isinstance(value, bool) else None
    if number is None or not math.isfinite(number) or number <= 0:
        wanted = "a whole number above 0" if whole else "a number above 0"
        off = "; None is off" if optional else ""
        raise UsageError(f"{where}: {name} is {value!r}; it must be {wanted}{off}")


def not_negative(where: str, name: str, value: object, *, whole: bool = False) -> None:
    """Require a finite number of 0 or more."""
    if not (isinstance(value, int | float) and not isinstance(value, bool) and value == 0):
        positive(where, name, value, whole=whole)


def text(where: str, name: str, value: object) -> None:
    """Require a text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{where}: {name} is {value!r}; write a text")


def items(where: str, name: str, value: object) -> None:
    """Require several values; one text is none of them, though Python would go through its letters."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise UsageError(f"{where}: {name} is {value!r}; write a list")


def one_of(where: str, name: str, value: object, allowed: Sequence[str]) -> None:
    """Require one of a few words."""
    if value not in allowed:
        raise UsageError(f"{where}: {name} is {value!r}; it must be one of {', '.join(map(repr, allowed))}")
