"""What is known of a value before a run: the values it can have, their types, the range of its numbers."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, TypeAlias, assert_never

from tuvl.analysis.schema_facts import types_of
from tuvl.analysis.steps import mapping
from tuvl.dataclass import dataclass
from tuvl.templating.tree import Comparison
from tuvl.values import JsonValue

Decided: TypeAlias = bool | None
"""Always true, always false, or `None`: it depends, or nobody can tell."""

_MOST_PAIRS = 400
_NUMBERS = frozenset({"integer", "number"})
_INFINITE = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What all values have in common that something can have."""

    kinds: frozenset[str] | None = None
    """JSON types, with one for all numbers; `None` when any is possible."""
    values: tuple[JsonValue, ...] | None = None
    """All values there can be; `None` when nobody lists them."""
    lowest: float = -_INFINITE
    highest: float = _INFINITE

    @property
    def is_number(self) -> bool:
        """Whether it can be nothing but a number."""
        return self.kinds == frozenset({"number"})

    def admits(self, value: JsonValue) -> bool:
        """Whether it may be this value."""
        if self.kinds is not None and kind_of(value) not in self.kinds:
            return False
        if self.values is not None and not any(_same(value, each) for each in self.values):
            return False
        return not isinstance(value, int | float) or isinstance(value, bool) or self.lowest <= value <= self.highest


NOTHING = Known(kinds=frozenset(), values=())
"""What is known of a value that is not there."""


def known_value(value: JsonValue) -> Known:
    """What is known of a value that is written down."""
    return _one_of([value])


def known_by(schema: object) -> Known:
    """What is known of every value that passes a schema."""
    given = mapping(schema)
    types = types_of(given)
    if "const" in given:
        return _one_of([given["const"]])
    listed = given.get("enum")
    if isinstance(listed, list) and listed:
        return _one_of(listed)
    if types is not None and types <= {"boolean", "null"}:
        return _one_of([*([True, False] if "boolean" in types else []), *([None] if "null" in types else [])])
    kinds = frozenset("number" if name in _NUMBERS else name for name in types) if types is not None else None
    return Known(kinds=kinds, lowest=_bound(given, _LOWER, -_INFINITE), highest=_bound(given, _UPPER, _INFINITE))


_LOWER = ("minimum", "exclusiveMinimum")
_UPPER = ("maximum", "exclusiveMaximum")


def _bound(schema: Mapping[str, Any], names: tuple[str, str], otherwise: float) -> float:
    bounds = (schema.get(name) for name in names)
    return next((each for each in bounds if isinstance(each, int | float) and not isinstance(each, bool)), otherwise)


def _one_of(values: list[JsonValue]) -> Known:
    numbers = [each for each in values if isinstance(each, int | float) and not isinstance(each, bool)]
    return Known(
        kinds=frozenset(map(kind_of, values)),
        values=tuple(values),
        lowest=min(numbers, default=-_INFINITE),
        highest=max(numbers, default=_INFINITE),
    )


def united(parts: Iterable[Known]) -> Known:
    """What is known of a value that is one of several."""
    known = list(parts)
    kinds = [each.kinds for each in known]
    values = [each.values for each in known]
    return Known(
        kinds=None if None in kinds else frozenset().union(*(each for each in kinds if each is not None)),
        values=None if None in values else tuple(value for each in values if each is not None for value in each),
        lowest=min(each.lowest for each in known),
        highest=max(each.highest for each in known),
    )


def kind_of(value: JsonValue) -> str:
    """The JSON type of a value; integers are numbers."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def compared(operator: Comparison, left: Known, right: Known) -> Decided:
    """Whether a comparison has one result, whatever the values are; none where it fails."""
    match operator:
        case "!=":
            return _not(compared("==", left, right))
        case "not in":
            return _not(compared("in", left, right))
        case ">":
            return compared("<", right, left)
        case ">=":
            return compared("<=", right, left)
        case "==" | "in" | "<" | "<=":
            pass
        case _:
            assert_never(operator)
    if left.values is not None and right.values is not None and len(left.values) * len(right.values) <= _MOST_PAIRS:
        return one(_concrete(operator, a, b) for a, b in product(left.values, right.values))
    if operator == "==":
        return False if _never_same(left, right) else None
    if operator == "in" or not (left.is_number and right.is_number):
        return None
    return _ordered(operator, left, right)


def one(results: Iterable[Decided]) -> Decided:
    """The one result of all of these."""
    found = set(results)
    return found.pop() if len(found) == 1 else None


def _not(decided: Decided) -> Decided:
    return None if decided is None else not decided


def _never_same(left: Known, right: Known) -> bool:
    if left.kinds is not None and right.kinds is not None and not _loosely(left.kinds) & _loosely(right.kinds):
        return True
    for one_of, other in ((left, right), (right, left)):
        if one_of.values is not None and "boolean" not in (one_of.kinds or ()):
            return not any(map(other.admits, one_of.values))
    return left.is_number and right.is_number and (left.highest < right.lowest or right.highest < left.lowest)


def _loosely(kinds: frozenset[str]) -> frozenset[str]:
    """Types that may hold what compares as equal: templates take `true` for 1."""
    return kinds | {"number"} if "boolean" in kinds else kinds


def _ordered(operator: Comparison, left: Known, right: Known) -> Decided:
    if operator == "<":
        return True if left.highest < right.lowest else False if left.lowest >= right.highest else None
    return True if left.highest <= right.lowest else False if left.lowest > right.highest else None


def _concrete(operator: Comparison, left: JsonValue, right: JsonValue) -> Decided:
    kinds = {kind_of(left), kind_of(right)}
    if operator == "==":
        return None if kinds == {"boolean", "number"} else _same(left, right)
    if operator == "in":
        if isinstance(right, list):
            pairs = {_concrete("==", left, each) for each in right}
            return True in pairs or (None if None in pairs else False)
        return left in right if isinstance(left, str) and isinstance(right, str | dict) else None
    if isinstance(left, str) and isinstance(right, str):
        return left < right or (operator == "<=" and left == right)
    if kinds != {"number"} or not isinstance(left, int | float) or not isinstance(right, int | float):
        return None
    return left < right or (operator == "<=" and left == right)


def _same(left: JsonValue, right: JsonValue) -> bool:
    return kind_of(left) == kind_of(right) and left == right
