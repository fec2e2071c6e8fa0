"""How long the text of a template can get, from its syntax: what stands in it, and what it shows of its values.

Nothing is said of templates that repeat what they read: loops, captured texts, and filters that make texts longer.
"""

from collections.abc import Iterable
from functools import lru_cache

from tuvl.dataclass import dataclass
from tuvl.templating.tree import (
    Block,
    Both,
    Branch,
    Calculate,
    Choice,
    Compare,
    Defaulted,
    Defined,
    Each,
    Either,
    Emit,
    Expression,
    Filtered,
    Index,
    Join,
    Literal,
    Not,
    Part,
    Read,
    Select,
    Sign,
    Statement,
    Tested,
    Text,
    indexed,
)

_NUMBER = 640
"""Bytes of the longest number that a calculation gives."""

_SEPARATOR = 3
"""Bytes between two texts of a list in JSON: a text that joins them is no longer."""

_SHORTER = frozenset({"first", "last", "string", "trim", "tojson"})
_NUMBERS = frozenset({"abs", "count", "float", "int", "length", "round", "wordcount", "sha256"})
_LETTERS = frozenset({"upper", "lower", "capitalize", "title", "slug"})
_GROWTH = 3
"""Bytes that one byte may become when letters change their form."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes of literal text, and the paths whose values are put in, each as often as it may be."""

    literal: int = 0
    paths: tuple[tuple[str, ...], ...] = ()

    def __add__(self, other: "Extent") -> "Extent":
        """Both."""
        return Extent(self.literal + other.literal, self.paths + other.paths)


@lru_cache(maxsize=1024)
def extent(text: str) -> Extent | None:
    """Return the extent of a template; `None` when only the bound of a rendering holds it."""
    # Jinja's parser takes most of a tenth of a second to import, and few files need it.
    from tuvl.templating.syntax import parse_template

    syntax = parse_template(text)
    return None if syntax.problems else _block(syntax.body)


def _block(block: Block) -> Extent | None:
    return _sum(_statement(statement) for statement in block)


def _statement(statement: Statement) -> Extent | None:
    match statement:
        case Text(text):
            return Extent(len(text.encode(errors="replace")))
        case Emit(expression):
            return _expression(expression)
        case Branch(cases, otherwise):
            return _sum((*(_block(body) for _, body in cases), _block(otherwise)))
    return None


def _expression(expression: Expression) -> Extent | None:
    match expression:
        case Literal(value):
            return Extent(len(str(value).encode(errors="replace")) + 2)
        case Read() | Index():
            return _path(expression)
        case Compare() | Not() | Tested() | Defined() | Sign():
            return Extent(_NUMBER)
        case Calculate(operator, left, right) if operator in ("+", "-", "/", "//"):
            return _sum((Extent(_NUMBER), _expression(left), _expression(right)))
        case Both(left, right) | Either(left, right):
            return _sum((_expression(left), _expression(right)))
        case Choice(_, yes, no):
            return _sum((_expression(yes), Extent() if no is None else _expression(no)))
        case Join(parts):
            return _sum(map(_expression, parts))
        case Defaulted(target, fallback, _):
            return _sum((_expression(target), Extent() if fallback is None else _expression(fallback)))
        case Part(target, _, _, _) | Select(target, _, _, _, _) | Each(target, _, None, None, _):
            return _expression(target)
        case Filtered(target, name, arguments):
            return _filtered(target, name, arguments)
    return None


def _filtered(target: Expression, name: str, arguments: tuple[Expression | None, ...]) -> Extent | None:
    if name in _NUMBERS:
        return Extent(_NUMBER)
    found = _expression(target)
    if found is None:
        return None
    plain = all(argument is None for argument in arguments)
    if name in _SHORTER and plain:
        return found
    if name in _LETTERS:
        return Extent(found.literal * _GROWTH, found.paths * _GROWTH)
    if name == "join" and _short(arguments[0] if arguments else None) and all(each is None for each in arguments[1:]):
        return found
    return None


def _short(separator: Expression | None) -> bool:
    if separator is None:
        return True
    return isinstance(separator, Literal) and len(str(separator.value).encode(errors="replace")) <= _SEPARATOR


def _path(expression: Expression) -> Extent | None:
    chain = indexed(expression)
    return Extent(paths=((chain.base.name, *chain.keys),)) if isinstance(chain.base, Read) else None


def _sum(extents: Iterable[Extent | None]) -> Extent | None:
    found = Extent()
    for each in extents:
        if each is None:
            return None
        found += each
    return found
