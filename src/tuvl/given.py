"""Values that people give from Python, checked where they give them."""

import sys
from collections.abc import Iterable, Sequence
from typing import TypeGuard

from tuvl.errors import UsageError
from tuvl.values import shorten


def positive(where: str, name: str, value: object, *, whole: bool = False, optional: bool = False) -> None:
    """Require a finite number above 0, a whole one when asked; `None` is fine when it is optional."""
    if value is None and optional:
        return
    if not _is_number(value, whole=whole) or not value > 0:
        wanted = "a whole number above 0" if whole else "a number above 0"
        off = "; None is off" if optional else ""
        raise UsageError(f"{where}: {name} is {_shown(value)}; it must be {wanted}{off}")


def not_negative(where: str, name: str, value: object, *, whole: bool = False, optional: bool = False) -> None:
    """Require a finite number of 0 or more, a whole one when asked; `None` is fine when it is optional."""
    if value is None and optional:
        return
    if not _is_number(value, whole=whole) or not value >= 0:
        wanted = "a whole number of 0 or more" if whole else "a number of 0 or more"
        raise UsageError(f"{where}: {name} is {_shown(value)}; it must be {wanted}")


def _is_number(value: object, *, whole: bool) -> TypeGuard[int | float]:
    kinds = int if whole else (int, float)
    # Too large a whole number for a float is none: it meets floats wherever it is compared.
    return isinstance(value, kinds) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def flag(where: str, name: str, value: object) -> None:
    """Require `True` or `False`."""
    if not isinstance(value, bool):
        raise UsageError(f"{where}: {name} is {_shown(value)}; it must be True or False")


def instance(where: str, name: str, value: object, kind: type[object], *, optional: bool = False) -> None:
    """Require a value of a type; `None` is fine when it is optional."""
    if not isinstance(value, kind) and not (value is None and optional):
        wanted = "write a text" if kind is str else f"give a {kind.__name__}"
        raise UsageError(f"{where}: {name} is {_shown(value)}; {wanted}")


def able(where: str, name: str, value: object, *methods: str) -> None:
    """Require something with these methods; `None` is nothing to require anything of."""
    missing = [method for method in methods if not callable(getattr(value, method, None))]
    if value is not None and (missing or isinstance(value, type)):
        needed = ", ".join(f"{method}()" for method in methods)
        raise UsageError(f"{where}: {name} is {_shown(value)}; give an object with {needed}")


def text(where: str, name: str, value: object) -> None:
    """Require a text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{where}: {name} is {_shown(value)}; write a text")


def items(where: str, name: str, value: object) -> None:
    """Require several values; one text is none of them, though Python would go through its letters."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise UsageError(f"{where}: {name} is {_shown(value)}; write a list")


def one_of(where: str, name: str, value: object, allowed: Sequence[str]) -> None:
    """Require one of a few words."""
    if value not in allowed:
        raise UsageError(f"{where}: {name} is {_shown(value)}; it must be one of {', '.join(map(repr, allowed))}")


def _shown(value: object) -> str:
    """Write a wrong value as Python does, on one short line."""
    try:
        return shorten(repr(value), 80)
    except Exception:  # noqa: BLE001 - a guest's own `__repr__`, and numbers of thousands of digits, may refuse
        return f"a {type(value).__name__}"
