"""What one JSON Schema says of types, values and bounds, in a form that can be compared."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.steps import items
from tuvl.changes.conditions import as_float
from tuvl.dataclass import dataclass
from tuvl.values import canonical

TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
EVERY = frozenset(TYPES)

_SIZES = (
    ("string", "minLength", "maxLength"),
    ("array", "minItems", "maxItems"),
    ("object", "minProperties", "maxProperties"),
)


@dataclass(frozen=True, slots=True)
class Bound:
    """One bound that differs."""

    keyword: str
    tighter: bool
    shown: tuple[object, object]
    undecided: bool = False


def types_in(schema: Mapping[str, Any]) -> frozenset[str]:
    """Types a value may have; those of the listed values where there is a list and no `type`."""
    types = frozenset(named_types(schema))
    if not types:
        values = allowed(schema)
        types = EVERY if values is None else frozenset(type_of(value) for value in values)
    if "number" in types:
        types |= {"integer"}
    return types


def type_of(value: object) -> str:
    """The type of a value; a whole number is an integer, however it is written."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def allowed(schema: Mapping[str, Any]) -> list[object] | None:
    """The values that are listed, of a type that is taken; `None` without a list."""
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return list(values) if isinstance(values, list) else None


def named_types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The types that a schema names itself."""
    declared = schema.get("type")
    named = [declared] if isinstance(declared, str) else items(declared)
    return tuple(dict.fromkeys(name for name in named if isinstance(name, str)))


def without(values: list[object], others: list[object]) -> list[object]:
    """The values that are not among others, each once."""
    known = {_same(value) for value in others}
    return list({_same(value): value for value in values if _same(value) not in known}.values())


def _same(value: object) -> str:
    # JSON Schema holds 1 and 1.0 for the same.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return canonical(value)  # type: ignore[arg-type]  # documents hold JSON


def bounds_of(old: Mapping[str, Any], new: Mapping[str, Any], types: frozenset[str]) -> Iterator[Bound]:
    """Yield the bounds that differ, of numbers, texts, lists and objects."""
    if types & {"number", "integer"}:
        whole = "number" not in types
        yield from _numbers(old, new, whole=whole)
        yield from _multiples(old, new)
    for kind, least, most in _SIZES:
        if kind in types:
            yield from _size(old, new, least, most)


def _numbers(old: Mapping[str, Any], new: Mapping[str, Any], *, whole: bool) -> Iterator[Bound]:
    before, after = _lower(old, whole), _lower(new, whole)
    if before != after:
        keyword = "exclusiveMinimum" if "exclusiveMinimum" in new else "minimum"
        yield Bound(keyword, after > before, (_shown(old, "inimum"), _shown(new, "inimum")))
    high, now = _upper(old, whole), _upper(new, whole)
    if high != now:
        keyword = "exclusiveMaximum" if "exclusiveMaximum" in new else "maximum"
        yield Bound(keyword, now < high, (_shown(old, "aximum"), _shown(new, "aximum")))


def _lower(schema: Mapping[str, Any], whole: bool) -> tuple[float, bool]:
    """The lower end, and whether it is left out itself; a greater one takes less."""
    ends = [
        (_number(schema.get("minimum"), -math.inf), False),
        (_number(schema.get("exclusiveMinimum"), -math.inf), True),
    ]
    value, strict = max(ends, key=lambda end: (end[0], end[1]))
    if value == -math.inf:
        return (value, False)
    if whole:
        return (math.floor(value) + 1 if strict else math.ceil(value), False)
    return (value, strict)


def _upper(schema: Mapping[str, Any], whole: bool) -> tuple[float, bool]:
    """The upper end, and whether it is taken itself; a smaller one takes less."""
    ends = [
        (_number(schema.get("maximum"), math.inf), True),
        (_number(schema.get("exclusiveMaximum"), math.inf), False),
    ]
    value, taken = min(ends, key=lambda end: (end[0], end[1]))
    if value == math.inf:
        return (value, True)
    if whole:
        return (math.floor(value) if taken else math.ceil(value) - 1, True)
    return (value, taken)


def _multiples(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Bound]:
    before, after = old.get("multipleOf"), new.get("multipleOf")
    if before == after:
        return
    one, other = _number(before, 0), _number(after, 0)
    if not one or not other:
        yield Bound("multipleOf", bool(other), (before, after))
    elif (other / one).is_integer():
        yield Bound("multipleOf", True, (before, after))
    else:
        yield Bound("multipleOf", False, (before, after), undecided=not (one / other).is_integer())


def _size(old: Mapping[str, Any], new: Mapping[str, Any], least: str, most: str) -> Iterator[Bound]:
    before, after = _number(old.get(least), 0), _number(new.get(least), 0)
    # What is required has to be there: a bound below that bounds nothing.
    needed = [len(set(map(str, items(each.get("required"))))) if least == "minProperties" else 0 for each in (old, new)]
    if after > max(before, needed[0]) or max(after, needed[1]) < before:
        yield Bound(least, after > before, (old.get(least), new.get(least)))
    before, after = _number(old.get(most), math.inf), _number(new.get(most), math.inf)
    if before != after:
        yield Bound(most, after < before, (old.get(most), new.get(most)))


def _number(value: object, default: float) -> float:
    return as_float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default


def _shown(schema: Mapping[str, Any], ending: str) -> object:
    found = {key: value for key, value in schema.items() if key.endswith(ending)}
    return next(iter(found.values())) if len(found) == 1 else found or None
