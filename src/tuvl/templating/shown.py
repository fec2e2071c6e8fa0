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

_KEEPS_ITEMS = frozenset({"list", "reverse", "sort", "unique"})
"""Filters that give the items of a list, each as it is."""

ANY_ITEM = "\0item"
"""The part of a path that stands for any item of a list."""

_WHOLE = "\0whole"
"""Ends a path of which nobody knows what is read below it."""

_LONGEST = 32
"""Parts of a path that are looked at."""


def shown_paths(block: Block, hiding: frozenset[str] = TELLS_NO_TEXT, *, of_items: bool = False) -> Paths:
    """Dotted reads from outside the template that its text can show; `hiding` are filters that show nothing.

    With `of_items` what is taken of the items of a list is a path below `ANY_ITEM`.
    """
    shown: set[tuple[str, ...]] = set()
    _Showing(hiding, of_items).block(block, {}, shown)
    return frozenset(path[: path.index(_WHOLE)] if _WHOLE in path else path for path in shown)


@dataclass(frozen=True, slots=True)
class _Showing:
    hiding: frozenset[str]
    of_items: bool

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
                    if self.of_items:
                        plain = len(statement.targets) == 1 and _is_plain_list(statement.items)
                        held = frozenset(_below(path, ANY_ITEM if plain else _WHOLE) for path in held)
                    inner = {**names, **dict.fromkeys(statement.targets, held), "loop": NOTHING}
                    self.block(statement.body, inner, shown)
                    self.block(statement.otherwise, names, shown)
                case Assign(targets, _, expression):
                    names.update(dict.fromkeys(targets, self._held(expression, names)))
                case Capture(target, body):
                    inside: set[tuple[str, ...]] = set()
                    self.block(body, names, inside)
                    names[target] = frozenset(inside)
                case With(assigns, body):
                    inner = dict(names)
                    for assign in assigns:
                        inner.update(dict.fromkeys(assign.targets, self._held(assign.expression, inner)))
                    self.block(body, inner, shown)
        return names

    def _held(self, expression: Expression, local: Mapping[str, Paths]) -> Paths:
        """What a name holds that is given an expression; of one that is no plain read nobody knows which part."""
        held = self._of(expression, local)
        if not self.of_items or isinstance(expression, Read | Index):
            return held
        return frozenset(_below(path, _WHOLE) for path in held)

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
            case Each(target, Literal(str() as attribute), None) if self.of_items and _is_plain_list(target):
                return frozenset(_below(path, ANY_ITEM, *attribute.split(".")) for path in self._of(target, local))
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
            held = local[chain.base.name]
            return frozenset(_below(path, *chain.keys) for path in held) if self.of_items else held
        return frozenset({(chain.base.name, *chain.keys)})


def _below(path: tuple[str, ...], *parts: str) -> tuple[str, ...]:
    """Return a part of what a path reads; below a part that nobody knows nothing is known."""
    if path[-1] == _WHOLE:
        return path
    longer = (*path, *parts)
    return longer if len(longer) <= _LONGEST else (*longer[:_LONGEST], _WHOLE)


def _is_plain_list(expression: Expression) -> bool:
    """Whether the items of an expression are those of a list that is read."""
    while True:
        match expression:
            case Read() | Index():
                return isinstance(indexed(expression).base, Read)
            case Select(target, _, _, _, _):
                expression = target
            case Filtered(target, name, _) if name in _KEEPS_ITEMS:
                expression = target
            case _:
                return False
