"""Makes up an input from a JSON Schema: the least that the schema asks for."""

from typing import cast

from tuvl.analysis.steps import items, mapping
from tuvl.tools.schema import ValueSchema
from tuvl.values import JsonObject, JsonValue

_DEEPEST = 8


def example_input(schema: object) -> JsonObject | None:
    """Return an input that the schema takes; `None` when none is found this way (a pattern, say, is not solved)."""
    if schema is None:
        return {}
    if not isinstance(schema, dict):
        return None
    value = _example(schema, 0)
    return value if isinstance(value, dict) and ValueSchema(schema).is_valid(value) else None


def _example(schema: object, depth: int) -> JsonValue:
    known = mapping(schema)
    for name in ("const", "default"):
        if name in known:
            return cast(JsonValue, known[name])
    for name in ("enum", "examples"):
        if items(known.get(name)):
            return cast(JsonValue, items(known[name])[0])
    kind = known.get("type")
    match items(kind)[0] if items(kind) else kind:
        case "object" | None if depth < _DEEPEST:
            properties = mapping(known.get("properties"))
            return {str(key): _example(properties.get(key), depth + 1) for key in items(known.get("required"))}
        case "array" if depth < _DEEPEST:
            return [_example(known.get("items"), depth + 1) for _ in range(_count(known.get("minItems")))]
        case "string":
            return "x" * max(1, _count(known.get("minLength")))
        case "integer" | "number":
            least = known.get("minimum", 1)
            return least if isinstance(least, int | float) else 1
        case "boolean":
            return True
        case _:
            return None


def _count(value: object) -> int:
    return min(value, 1000) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
