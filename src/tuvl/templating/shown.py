"""Of which reads something can stand in the text that a template gives: tests, counts and digests show nothing."""

from collections.abc import Mapping
from typing import TypeAlias

from tuvl.templating.reads import parts_of
from tuvl.templating.tree import (
    Assign,
    Block,
    Branch,
    Capture,
    Choice,
    Compare,
    Defaulted,
    Defined,
    Each,
    Emit,
    Expression,
    Filtered,
    Index,
    Literal,
    Loop,
    Not,
    Part,
    Read,
    Select,
    Tested,
    With,
    indexed,
)

Paths: TypeAlias = frozenset[tuple[str, ...]]

NOTHING: Paths = frozenset()

TELLS_NO_TEXT = frozenset({"abs", "count", "float", "int", "length", "round", "sha256", "wordcount"})
"""Filters whose result is a number or a digest, whatever they are given."""


def shown_paths(block: Block) -> Paths:
    """Dotted reads from outside the template that its text can show."""
    shown: set[tuple[str, ...]] = set()
    _block(block, {}, shown)
    return frozenset(shown)


def _block(block: Block, local: Mapping[str, Paths], shown: set[tuple[str, ...]]) -> dict[str, Paths]:
    """Collect what statements show; returns what the names they set hold."""
    names = dict(local)
    for statement in block:
        match statement:
            case Emit(expression):
                shown |= _of(expression, names)
            case Branch(cases, otherwise):
                for body in (*(body for _, body in cases), otherwise):
                    for name, held in _block(body, names, shown).items():
                        names[name] = names.get(name, NOTHING) | held
            case Loop():
                held = _of(statement.items, names)
                inner = {**names, **dict.fromkeys(statement.targets, held), "loop": NOTHING}
                _block(statement.body, inner, shown)
                _block(statement.otherwise, names, shown)
            case Assign(targets, _, expression):
                names.update(dict.fromkeys(targets, _of(expression, names)))
            case Capture(target, body):
                inside: set[tuple[str, ...]] = set()
                _block(body, names, inside)
                names[target] = frozenset(inside)
            case With(assigns, body):
                inner = dict(names)
                for assign in assigns:
                    inner.update(dict.fromkeys(assign.targets, _of(assign.expression, inner)))
                _block(body, inner, shown)
    return names


def _of(expression: Expression, local: Mapping[str, Paths]) -> Paths:
    """Reads of which the value of an expression can hold something."""
    match expression:
        case Literal() | Compare() | Not() | Tested() | Defined():
            return NOTHING
        case Read() | Index():
            return _path(expression, local)
        case Filtered(target, name, arguments):
            return NOTHING if name in TELLS_NO_TEXT else _all((target, *arguments), local)
        case Part(target, _, _, _) | Select(target, _, _, _, _):
            return _of(target, local)
        case Each(target, _, fallback, name, arguments):
            return NOTHING if name in TELLS_NO_TEXT else _all((target, fallback, *arguments), local)
        case Choice(_, yes, no):
            return _all((yes, no), local)
        case Defaulted(target, fallback, _):
            return _all((target, fallback), local)
        case _:
            return _all(parts_of(expression), local)


def _all(parts: "tuple[Expression | None, ...]", local: Mapping[str, Paths]) -> Paths:
    return frozenset().union(*(_of(part, local) for part in parts if part is not None))


def _path(expression: Read | Index, local: Mapping[str, Paths]) -> Paths:
    chain = indexed(expression)
    if not isinstance(chain.base, Read):
        return _of(chain.base, local)
    if chain.base.name in local:
        return local[chain.base.name]
    return frozenset({(chain.base.name, *chain.keys)})
