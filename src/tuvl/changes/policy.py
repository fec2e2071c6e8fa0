"""Ways to compare one field of the language, as a closed set; which field is compared how stands in `fields`."""

from typing import TypeAlias

from tuvl.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Says:
    """Any difference is one change; `removed` where a value that is gone means something else."""

    code: str = "field-changed"
    removed: str | None = None


@dataclass(frozen=True, slots=True)
class Cap:
    """A number that bounds something; without it there is no bound, or the one that stands elsewhere."""

    raised: str = "bound-raised"
    removed: str = "bound-removed"
    lowered: str = "bound-lowered"


@dataclass(frozen=True, slots=True)
class Toggle:
    """`true` or `false`."""

    on: str
    off: str


@dataclass(frozen=True, slots=True)
class Rank:
    """A word of a scale that goes from the strictest to the loosest; others are only different."""

    scale: tuple[str, ...]
    looser: str
    stricter: str = "field-changed"


@dataclass(frozen=True, slots=True)
class Members:
    """A list of words, or one word, as a set. `absent_is_all`: no list, or an empty one, holds everything.

    `absent_is_other`: without a list one holds that stands elsewhere, so that nobody can tell which holds more.
    """

    added: str
    removed: str
    absent_is_all: bool = False
    empty_is_all: bool = False
    absent_is_other: bool = False
    order: str = "reordered"


@dataclass(frozen=True, slots=True)
class Statuses:
    """HTTP statuses and classes of them (`2xx`), as the set of all that they name."""

    added: str
    removed: str


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The name of what keeps something back; without it nothing is kept back."""

    narrower: str
    wider: str


@dataclass(frozen=True, slots=True)
class Location:
    """A text that says where something is, and may hold a credential."""

    code: str
    credential: str


@dataclass(frozen=True, slots=True)
class Gate:
    """A scope or group that is asked for."""

    asked: str = "scope-required"
    dropped: str = "scope-dropped"


@dataclass(frozen=True, slots=True)
class Subschema:
    """A JSON Schema."""

    tighter: str
    looser: str
    added: str
    note: str


@dataclass(frozen=True, slots=True)
class Prose:
    """A text, or a reference to an artifact that holds one.

    `weighs`: the text decides something, so that another text behind the same reference is told here, too.
    """

    code: str
    weighs: bool = False


@dataclass(frozen=True, slots=True)
class References:
    """A list of references to artifacts, or of texts."""

    added: str
    removed: str
    changed: str


@dataclass(frozen=True, slots=True)
class Entries:
    """A list of blocks that are known again by some of their fields."""

    keys: tuple[str, ...]
    added: str
    removed: str
    order: str = "order-changed"


@dataclass(frozen=True, slots=True)
class Block:
    """A block of fields; `added` and `removed` where its presence means something of itself."""

    added: str | None = None
    removed: str | None = None


@dataclass(frozen=True, slots=True)
class Mapped:
    """A mapping with keys of the author's own.

    `removed` and `changed` where a key that is gone, or has another value, means something of itself.
    """

    code: str = "field-changed"
    removed: str | None = None
    changed: str | None = None


@dataclass(frozen=True, slots=True)
class Weights:
    """Checks by code, and how much each weighs."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a provider, known by their names alone."""


@dataclass(frozen=True, slots=True)
class Named:
    """The name of another document, whose content is compared too."""

    code: str
    kind: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What facts about the whole workflow tell: `by` names the module that does."""

    by: str


Policy: TypeAlias = (
    Says
    | Cap
    | Toggle
    | Rank
    | Members
    | Statuses
    | Narrowing
    | Location
    | Gate
    | Subschema
    | Prose
    | References
    | Entries
    | Block
    | Mapped
    | Weights
    | Settings
    | Named
    | Elsewhere
)
