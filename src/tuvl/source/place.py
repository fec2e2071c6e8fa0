"""Places in a text, and what the reader of a file says about them."""

from typing import Literal, NamedTuple

from tuvl.dataclass import dataclass
from tuvl.values import KeyPath


class Position(NamedTuple):
    """One character of a text; line and column count from 1, columns in characters (not bytes)."""

    line: int
    column: int


class Range(NamedTuple):
    """A stretch of text; `end` is the position just past its last character."""

    start: Position
    end: Position

    @classmethod
    def at(cls, line: int, column: int, width: int = 1) -> "Range":
        """Make a range of `width` characters on one line."""
        return cls(Position(line, column), Position(line, column + width))


ProblemCode = Literal["TV001", "TV002", "TV003", "TV004"]
"""The checks that the reader of a file makes itself: syntax, duplicate keys, unsafe text, keys taken as written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProblem:
    """One thing that is wrong with a file as text; `path` is the key path where it is known.

    `other` is the second place a person must look at: where a repeated key stands first, where a bracket opens.
    """

    code: ProblemCode
    message: str
    hint: str
    range: Range
    path: KeyPath = ()
    other: Range | None = None
