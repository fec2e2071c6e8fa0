"""What a JSON Schema says of the values that pass it: their types, their parts, whether they can hold free text."""

import re
from collections.abc import Sequence

from tuvl.analysis.steps import items, mapping, text
from tuvl.values import KeyPath

_DEEPEST = 24

_SCALARS = frozenset({"integer", "number", "boolean", "null"})
_TYPES_OF_PYTHON = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}

_FREE = re.compile(r"(?<!\\)(?:\\\\)*\.|\[\^|\\[SWDPsp]|\[[^\]]*[ \t][^\]]*\]")
"""Parts of a pattern that let prose through: any character, a negated class, white space to be repeated."""


def types_of(schema: object) -> frozenset[str] | None:
    """JSON types that a value may have; `None` when the schema does not say."""
    known = mapping(schema)
    declared = known.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    if isinstance(declared, list) and declared and all(isinstance(name, str) for name in declared):
        return frozenset(declared)
    if "const" in known:
        return frozenset({_type_of(known["const"])})
    values = known.get("enum")
    if isinstance(values, list) and values:
        return frozenset(_type_of(value) for value in values)
    return None


def _type_of(value: object) -> str:
    return _TYPES_OF_PYTHON.get(type(value), "null")


def part_of(schema: object, path: Sequence[str]) -> object:
    """The schema of what a dotted path leads to; `None` when it is not said."""
    part: object = schema
    for segment in path:
        known = mapping(part)
        properties = mapping(known.get("properties"))
        if segment in properties:
            part = properties[segment]
        elif segment.isdecimal() and isinstance(known.get("items"), dict):
            part = known["items"]
        else:
            return None
    return part


def is_closed(schema: object, *, amounts: bool = False) -> bool:
    """Whether no free text can be in a value: an enum, a number, a boolean, an anchored pattern, or made of such.

    With `amounts` a number must lie between two bounds as well: without them it says as much as its writer likes.
    """
    waiting: list[tuple[object, int]] = [(schema, 0)]
    while waiting:
        part, depth = waiting.pop()
        known = mapping(part)
        if "const" in known or items(known.get("enum")):
            continue
        types = types_of(known)
        if types is None or depth > _DEEPEST:
            return False
        if amounts and "number" in types and not is_bounded(known):
            return False
        if "string" in types and not anchored(known.get("pattern")):
            return False
        if "array" in types:
            waiting.append((known.get("items"), depth + 1))
        if "object" in types:
            if known.get("additionalProperties") is not False or known.get("patternProperties"):
                return False
            waiting.extend((value, depth + 1) for value in mapping(known.get("properties")).values())
        if types - _SCALARS - {"string", "array", "object"}:
            return False
    return True


def is_bounded(schema: object) -> bool:
    """Whether a number lies between two bounds."""
    known = mapping(schema)
    lowest = known.get("minimum", known.get("exclusiveMinimum"))
    highest = known.get("maximum", known.get("exclusiveMaximum"))
    return all(isinstance(bound, int | float) and not isinstance(bound, bool) for bound in (lowest, highest))


def anchored(pattern: object) -> bool:
    """Whether a pattern holds the whole text, and lets no prose through."""
    found = text(pattern)
    if found is None or not found.startswith("^") or not found.endswith("$") or found.endswith("\\$"):
        return False
    # An alternative outside of a group would be anchored on one side only.
    flat = re.sub(r"\\.|\[[^\]]*\]", "", found)
    while (shorter := re.sub(r"\([^()]*\)", "", flat)) != flat:
        flat = shorter
    return "|" not in flat and _FREE.search(found) is None


def lists_keys(schema: object) -> bool:
    """Whether an object schema names its properties."""
    return isinstance(mapping(schema).get("properties"), dict)


def takes_others(schema: object) -> bool:
    """Whether an object may have properties that its schema does not name."""
    known = mapping(schema)
    return known.get("additionalProperties") is not False or bool(known.get("patternProperties"))


def required_of(schema: object) -> frozenset[str]:
    """Properties that an object must have."""
    return frozenset(name for name in items(mapping(schema).get("required")) if isinstance(name, str))


def pointed(root: object, ref: str) -> tuple[object, KeyPath] | None:
    """What a `$ref` within a schema leads to, and where; `None` when it leads nowhere."""
    if ref == "#":
        return root, ()
    if not ref.startswith("#/"):
        return None
    value: object = root
    path: list[str | int] = []
    for part in ref[2:].split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
            path.append(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
            path.append(int(name))
        else:
            return None
    return value, tuple(path)
