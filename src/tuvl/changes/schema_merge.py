"""Two JSON Schemas that both hold, as one: exactly, or with what cannot be merged left in `allOf`."""

import math
from typing import Any

from tuvl.analysis.steps import items, mapping
from tuvl.changes.schema_place import NOTES
from tuvl.changes.schema_values import allowed, named_types, without
from tuvl.values import canonical

_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_GROUPS = (
    ("properties", "patternProperties", "additionalProperties"),
    ("prefixItems", "items"),
    ("contains", "minContains", "maxContains"),
    ("if", "then", "else"),
)
"""Keywords that look at each other: they are merged together, or not at all."""
_OBJECT, _LIST = _GROUPS[0], _GROUPS[1]


def merged(one: object, other: object) -> object:
    """Return a schema that takes what both take."""
    if one is False or other is False:
        return False
    if not isinstance(one, dict) or not one:
        return other if isinstance(other, dict) else True if not isinstance(one, dict) else one
    if not isinstance(other, dict) or not other:
        return one
    found: dict[str, Any] = dict(one)
    left: dict[str, Any] = {}
    done: set[str] = set()
    for group in _GROUPS:
        theirs = {key: other[key] for key in group if key in other}
        if theirs:
            done |= theirs.keys()
            _group(found, group, theirs, left)
    done |= {"type", "enum", "const"}
    if not _types(found, other):
        return False
    _values(found, other)
    for key, value in other.items():
        if key not in done:
            _keyword(found, key, value, left)
    if left:
        found["allOf"] = [*items(found.get("allOf")), left]
    return found


def _group(found: dict[str, Any], group: tuple[str, ...], theirs: dict[str, Any], left: dict[str, Any]) -> None:
    ours = {key: found[key] for key in group if key in found}
    if not ours:
        found.update(theirs)
    elif canonical(ours) == canonical(theirs):
        return
    elif group == _OBJECT and "patternProperties" not in ours and "patternProperties" not in theirs:
        found.update(_objects(ours, theirs))
    elif group == _LIST:
        found.update(_lists(ours, theirs))
    else:
        left.update(theirs)


def _both(one: object, other: object) -> object:
    if one is False or other is False:
        return False
    if one is True or one == {}:
        return other
    if other is True or other == {} or canonical(one) == canonical(other):  # type: ignore[arg-type]
        return one
    return {"allOf": [one, other]}


def _objects(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    ours, theirs = mapping(one.get("properties")), mapping(other.get("properties"))
    rests = one.get("additionalProperties", True), other.get("additionalProperties", True)
    rest = _both(*rests)
    properties = {
        name: _both(ours.get(name, rests[0]), theirs.get(name, rests[1])) for name in dict.fromkeys((*ours, *theirs))
    }
    if rest is False:
        properties = {name: schema for name, schema in properties.items() if schema is not False}
    return {"properties": properties, "additionalProperties": rest}


def _lists(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    ours, theirs = items(one.get("prefixItems")), items(other.get("prefixItems"))
    rests = one.get("items", True), other.get("items", True)
    first = [
        _both(
            ours[index] if index < len(ours) else rests[0],
            theirs[index] if index < len(theirs) else rests[1],
        )
        for index in range(max(len(ours), len(theirs)))
    ]
    return {**({"prefixItems": first} if first else {}), "items": _both(*rests)}


def _types(found: dict[str, Any], other: dict[str, Any]) -> bool:
    """Keep the types of both; returns whether any is left."""
    ours, theirs = named_types(found), named_types(other)
    if not theirs:
        return True
    if not ours:
        found["type"] = other["type"]
        return True
    kept = [name for name in ours if name in theirs or (name == "integer" and "number" in theirs)]
    kept += [name for name in theirs if name == "integer" and "number" in ours and name not in kept]
    found["type"] = kept
    return bool(kept)


def _values(found: dict[str, Any], other: dict[str, Any]) -> None:
    ours, theirs = allowed(found), allowed(other)
    if theirs is None:
        return
    found.pop("const", None)
    found["enum"] = theirs if ours is None else without(ours, without(ours, theirs))


def _keyword(found: dict[str, Any], key: str, value: Any, left: dict[str, Any]) -> None:
    if key not in found:
        found[key] = value
        return
    own = found[key]
    if key in NOTES or canonical(own) == canonical(value):
        return
    if key in _LEAST and _are_numbers(own, value):
        found[key] = max(own, value)
    elif key in _MOST and _are_numbers(own, value):
        found[key] = min(own, value)
    elif key == "required":
        found[key] = list(dict.fromkeys((*items(own), *items(value))))
    elif key == "uniqueItems":
        found[key] = own is True or value is True
    elif key == "allOf":
        found[key] = [*items(own), *items(value)]
    elif key == "propertyNames":
        found[key] = _both(own, value)
    elif key == "multipleOf" and isinstance(own, int) and isinstance(value, int) and own > 0 and value > 0:
        found[key] = math.lcm(own, value)
    else:
        left[key] = value


def _are_numbers(*values: object) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
