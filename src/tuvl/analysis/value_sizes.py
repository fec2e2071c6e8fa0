"""How long values are at most, and the context that holds them, by what is known of them before a run."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from tuvl.analysis.key_flow import KeyFlow
from tuvl.analysis.known_values import KnownValues
from tuvl.analysis.schema_facts import is_bounded, part_of, takes_others, types_of
from tuvl.analysis.steps import items, mapping
from tuvl.values import JsonValue, json_size

Path: TypeAlias = tuple[str, ...]
Longest: TypeAlias = Callable[[Path], int | None]
"""Tells how long the value at a dotted path is at most, of the whole context where the path is empty."""

_NUMBER = 24
"""Characters of a number without bounds: more is not to be expected."""
_PUNCTUATION = 4
"""Characters around one key, or one item, in JSON."""
_DEEPEST = 24
_FIXED = {"boolean": 5, "null": 4}


def unknown_sizes(path: Path) -> int | None:
    """Tell nothing."""
    return None


class ValueSizes:
    """What is known of the lengths of values at the steps of one workflow, in characters as JSON."""

    def __init__(self, flow: KeyFlow) -> None:
        self._flow = flow
        self._values = KnownValues(flow)

    def at(self, step: str) -> Longest:
        """What is known where a step runs, in whichever of its roles."""
        places = [place.index for place in self._flow.graph.places if place.step.id == step]

        def longest(path: Path) -> int | None:
            sizes = [self._value(place, path) if path else self._context(place) for place in places]
            return max((size for size in sizes if size is not None), default=0) if None not in sizes else None

        return longest

    def _value(self, place: int, path: Path) -> int | None:
        known = self._values.at(place, path[0])
        if known is None:
            return None
        sizes = [longest_of(part_of(schema, path[1:])) for schema in known.schemas]
        return max((size for size in sizes if size is not None), default=0) if None not in sizes else None

    def _context(self, place: int) -> int | None:
        flow = self._flow
        possible = flow.possible[place] or 0
        if possible & flow.more or flow.input.is_open or flow.graph.places[place].called:
            return None
        total = 0
        for key in flow.graph.keys.listed(possible):
            size = 0 if key.startswith("_") else self._value(place, (key,))
            if size is None:
                return None
            total += size + len(key) + _PUNCTUATION
        return total


def longest_of(schema: object, depth: int = 0) -> int | None:
    """Characters of the longest value that passes a schema, as JSON; `None` when it does not bound them."""
    known = mapping(schema)
    listed = [known["const"]] if "const" in known else items(known.get("enum"))
    if listed:
        return max(json_size(cast(JsonValue, value)) for value in listed)
    types = types_of(known)
    if types is None or depth > _DEEPEST:
        return None
    sizes = [_longest(name, known, depth) for name in types]
    return max((size for size in sizes if size is not None), default=0) if None not in sizes else None


def _longest(kind: str, schema: Mapping[str, Any], depth: int) -> int | None:
    match kind:
        case "string":
            most = _count(schema, "maxLength")
            return None if most is None else most + 2
        case "integer" | "number":
            bounds = [_digits(schema.get(name)) for name in _BOUNDS] if is_bounded(schema) else []
            return max(bounds, default=_NUMBER) if kind == "integer" else _NUMBER
        case "array":
            most, one = _count(schema, "maxItems"), longest_of(schema.get("items"), depth + 1)
            return None if most is None or one is None else most * (one + _PUNCTUATION) + 2
        case "object":
            return None if takes_others(schema) else _object(mapping(schema.get("properties")), depth)
        case _:
            return _FIXED.get(kind)


_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def _digits(bound: object) -> int:
    return len(str(bound)) if isinstance(bound, int | float) else 0


def _object(properties: Mapping[str, object], depth: int) -> int | None:
    total = 2
    for name, part in properties.items():
        size = longest_of(part, depth + 1)
        if size is None:
            return None
        total += size + len(name) + _PUNCTUATION
    return total


def _count(schema: Mapping[str, Any], name: str) -> int | None:
    most = schema.get(name)
    return most if isinstance(most, int) and not isinstance(most, bool) else None
