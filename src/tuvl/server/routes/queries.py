"""The input of a run as a query says it: words, read as what the workflow declares its input to be."""

import json
import re
from collections.abc import Mapping, Sequence

from tuvl.analysis.steps import mapping
from tuvl.values import JsonObject, JsonValue

_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,300})")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,300})(?:\.\d{1,300})?(?:[eE][+-]?\d{1,2})?")


def input_of(query: Sequence[tuple[str, str]], schema: Mapping[str, JsonValue] | None) -> JsonObject:
    """Return a query as an input; a name that comes more than once, or is declared as an array, has a list.

    What cannot be read as what is declared stays text, and the check of the input says so.
    """
    given: dict[str, list[str]] = {}
    for name, text in query:
        given.setdefault(name, []).append(text)
    declared = mapping((schema or {}).get("properties"))
    found: JsonObject = {}
    for name, texts in given.items():
        field = mapping(declared.get(name))
        if "array" in _types(field):
            found[name] = [_read(text, mapping(field.get("items"))) for text in texts]
        else:
            values = [_read(text, field) for text in texts]
            found[name] = values[0] if len(values) == 1 else values
    return found


def _types(field: Mapping[str, JsonValue]) -> list[JsonValue]:
    kind = field.get("type")
    return kind if isinstance(kind, list) else [kind]


def _read(text: str, field: Mapping[str, JsonValue]) -> JsonValue:
    types = _types(field)
    if "string" in types:
        return text
    if "boolean" in types and text in ("true", "false"):
        return text == "true"
    pattern = _NUMBER if "number" in types else _INTEGER if "integer" in types else None
    if pattern is not None and pattern.fullmatch(text):
        number: JsonValue = json.loads(text)
        return number
    return text
