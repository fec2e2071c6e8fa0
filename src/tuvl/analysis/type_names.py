"""The types of JSON values as messages name them, and as comparisons tell them apart: all numbers are one kind."""

from collections.abc import Iterable

_NUMBERS = frozenset({"integer", "number"})


def kinds(types: Iterable[str]) -> frozenset[str]:
    """The kinds of types: whole numbers are numbers."""
    return frozenset("number" if name in _NUMBERS else name for name in types)


def said(types: Iterable[str]) -> str:
    """Types as a sentence has them: `an array or a string`."""
    return " or ".join(map(article, sorted(types)))


def article(name: str) -> str:
    """One type as a sentence has it."""
    return name if name == "null" else f"{'an' if name[0] in 'aio' else 'a'} {name}"
