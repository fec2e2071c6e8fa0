"""What a template gives, by its syntax and by what is known of the values it reads: nothing is rendered."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from tuvl.templating.plain import is_template, plain_template

if TYPE_CHECKING:
    from tuvl.templating.tree import Expression

Types: TypeAlias = frozenset[str]
"""Types of JSON that a value may have, by their names in a JSON Schema."""

TypesOf: TypeAlias = Callable[[tuple[str, ...]], Types | None]
"""Tells the types of what a dotted path leads to; `None` where they are not known."""

TEXT: Types = frozenset({"string"})


def result_types(text: str, types_of: TypesOf) -> Types | None:
    """Tell the types of what a text gives when it is rendered, if it can be; `None` when nobody can tell.

    A text that is one expression gives the expression's value; any other gives a text.
    """
    if not is_template(text):
        return TEXT
    plain = plain_template(text)
    if plain is not None:
        return TEXT if plain.single is None else types_of(tuple(map(str, plain.single)))
    # Jinja's parser takes most of a tenth of a second to import, and few files need it.
    from tuvl.templating.syntax import parse_template

    syntax = parse_template(text)
    if syntax.problems:
        return None
    return TEXT if syntax.single is None else _Reader(types_of).of(syntax.single)


def expression_types(expression: "Expression", types_of: TypesOf) -> Types | None:
    """Tell the types of what a part of a template gives; `None` when nobody can tell."""
    return _Reader(types_of).of(expression)


_NUMBER: Types = frozenset({"number"})
_TRUTH: Types = frozenset({"boolean"})
_LIST: Types = frozenset({"array"})
_NUMBERS = frozenset({"integer", "number"})
_OF_PYTHON = {bool: "boolean", int: "integer", float: "number", str: "string"}
_FILTERS: tuple[tuple[Types, tuple[str, ...]], ...] = (
    (TEXT, ("string", "upper", "lower", "capitalize", "title", "trim", "replace", "center", "indent", "truncate")),
    (TEXT, ("wordwrap", "striptags", "escape", "e", "urlencode", "slug", "sha256", "tojson", "format")),
    (TEXT, ("filesizeformat", "join")),
    (_NUMBER, ("wordcount", "abs", "round", "length", "count")),
    (_LIST, ("list", "items", "dictsort", "sort", "unique", "batch", "slice", "groupby")),
)
_OF_FILTERS = {name: types for types, names in _FILTERS for name in names}
"""Filters that always give values of one type; of the others nothing is said."""


class _Reader:
    """Reads the types of expressions; `None` is any."""

    def __init__(self, types_of: TypesOf) -> None:
        from tuvl.templating import tree

        self._tree = tree
        self._types_of = types_of

    def of(self, expression: "Expression") -> Types | None:  # noqa: C901  # one case for each member of a closed set
        """Tell the types of what an expression gives."""
        tree = self._tree
        match expression:
            case tree.Literal(value):
                return frozenset({_OF_PYTHON.get(type(value), "null")})
            case tree.Read() | tree.Index():
                return self._path(expression)
            case tree.Compare() | tree.Not() | tree.Tested() | tree.Defined():
                return _TRUTH
            case tree.Join():
                return TEXT
            case tree.ListOf() | tree.Each() | tree.Select():
                return _LIST
            case tree.MapOf():
                return frozenset({"object"})
            case tree.Sign():
                return _NUMBER
            case tree.Calculate(operator, left, _):
                return self._calculated(operator, self.of(left))
            case tree.Both(left, right) | tree.Either(left, right):
                return _either((self.of(left), self.of(right)))
            case tree.Choice(_, yes, no):
                return _either((self.of(yes), TEXT if no is None else self.of(no)))
            case tree.Defaulted(target, fallback, _):
                return _either((self.of(target), TEXT if fallback is None else self.of(fallback)))
            case tree.Filtered(_, name, _):
                return _OF_FILTERS.get(name)
            case _:
                return None

    def _path(self, expression: "Expression") -> Types | None:
        chain = self._tree.indexed(expression)
        if chain.computed or not isinstance(chain.base, self._tree.Read):
            return None
        return self._types_of((chain.base.name, *chain.keys))

    @staticmethod
    def _calculated(operator: str, left: Types | None) -> Types | None:
        """Only `+` and `*` take anything but numbers, and give what stands on their left."""
        if operator not in ("+", "*"):
            return _NUMBER
        if left is None or not left & _NUMBERS:
            return left if left is None or left <= TEXT | _LIST else None
        return _NUMBER if left <= _NUMBERS else None


def _either(types: Iterable[Types | None]) -> Types | None:
    found: Types = frozenset()
    for each in types:
        if each is None:
            return None
        found |= each
    return found
