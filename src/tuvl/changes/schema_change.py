"""One difference of two JSON Schemas, and what it does to the values that are taken."""

from enum import StrEnum

from tuvl.dataclass import dataclass
from tuvl.values import KeyPath


class Direction(StrEnum):
    """What a difference does to the values that are taken."""

    TIGHTER = "tighter"
    LOOSER = "looser"
    UNDECIDED = "undecided"
    ADDED = "added"
    """A new optional property where unknown ones were passed over: it only concerns who sent one of that name."""
    NOTE = "note"
    """Words for people and models; the same values are taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChange:
    """One difference. The paths say where it stands in each schema; `where` is the place in the value."""

    direction: Direction
    message: str
    old_path: KeyPath
    new_path: KeyPath
    where: str
    before: object = None
    after: object = None
    may: bool = False
    """Whether it only may be so: other keywords beside it bear on the same values."""
