"""Of which reads something can stand in the text that a template gives: tests, counts and digests show nothing."""

from collections.abc import Mapping
from typing import TypeAlias

from tuvl.dataclass import dataclass
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

REVEALS_NOTHING = frozenset({"count", "length", "sha256", "wordcount"})
"""Those of them of which nobody can tell what they were given: a rounded number is still that number."""


def shown_paths(block: Block, hiding: frozenset[str] = TELLS_NO_TEXT) -> Paths:
    """Dotted reads from outside the template that its text can show; `hiding` are filters that show nothing."""
    shown: set[tuple[str, ...]] = set()
    _Showing(hiding).block(block, {}, shown)
    return frozenset(shown)


@dataclass(frozen=True, slots=True)
class _Showing:
    hiding: frozenset[str]

    def block(self, block: Block, local: Mapping[str, Paths], shown: set[tuple[str, ...]]) -> dict[str, Paths]:
        """Collect what statements show; returns what the names they set hold."""
        names = dict(local)
        for statement in block:
            match statement:
                case Emit(expression):
                    shown |= self._of(expression, names)
                case Branch(cases, otherwise):
                    for body in (*(body for _, body in cases), otherwise):
                        for name, held in self.block(body, names, shown).items():
                            names[name] = names.get(name, NOTHING) | held
                case Loop():
                    held = self._of(statement.items, names)
                    inner = {**names, **dict.fromkeys(statement.targets, held), "loop": NOTHING}
                    self.block(statement.body, inner, shown)
                    self.block(statement.otherwise, names, shown)
                case Assign(targets, _, expression):
                    names.update(dict.fromkeys(targets, self._of(expression, names)))
                case Capture(target, body):
                    inside: set[tuple[str, ...]] = set()
                    self.block(body, names, inside)
                    names[target] = frozenset(inside)
                case With(assigns, body):
                    inner = dict(names)
                    for assign in assigns:
                        inner.update(dict.fromkeys(assign.targets, self._of(assign.expression, inner)))
                    self.block(body, inner, shown)
        return names

    def _of(self, expression: Expression, local: Mapping[str, Paths]) -> Paths:
        """Reads of which the value of an expression can hold something."""
        match expression:
            case Literal() | Compare() | Not() | Tested() | Defined():
                return NOTHING
            case Read() | Index():
                return self._path(expression, local)
            case Filtered(target, name, arguments):
                return NOTHING if name in self.hiding else self._all((target, *arguments), local)
            case Part(target, _, _, _) | Select(target, _, _, _, _):
                return self._of(target, local)
            case Each(target, _, fallback, name, arguments):
                return NOTHING if name in self.hiding else self._all((target, fallback, *arguments), local)
            case Choice(_, yes, no):
                return self._all((yes, no), local)
            case Defaulted(target, fallback, _):
                return self._all((target, fallback), local)
            case _:
                return self._all(parts_of(expression), local)

    def _all(self, parts: "tuple[Expression | None, ...]", local: Mapping[str, Paths]) -> Paths:
        return frozenset().union(*(self._of(part, local) for part in parts if part is not None))

    def _path(self, expression: Read | Index, local: Mapping[str, Paths]) -> Paths:
        chain = indexed(expression)
        if not isinstance(chain.base, Read):
            return self._of(chain.base, local)
        if chain.base.name in local:
            return local[chain.base.name]
        return frozenset({(chain.base.name, *chain.keys)})
