"""How a server's tool differs from what was locked of it, in the words of whoever calls it."""

from collections.abc import Iterator
from dataclasses import replace

from tuvl.locking.differences import Difference, differences
from tuvl.values import JsonObject, JsonValue

_TAKEN = "input_schema"


def tool_differences(old: JsonObject, new: JsonObject) -> Iterator[Difference]:
    """Yield what differs between two locked contents of a tool; parameters are called so."""
    before, after = _parameters(old), _parameters(new)
    needed_before, needed_after = _required(old), _required(new)
    for name in (*before, *(name for name in after if name not in before)):
        yield from _one_parameter(name, before, after)
    for name in sorted((needed_after - needed_before) & after.keys()):
        path = (_TAKEN, "properties", name)
        yield Difference(path=path, label=(f"parameter `{name}`",), said="is now required")
    for name in sorted((needed_before - needed_after) & after.keys()):
        path = (_TAKEN, "properties", name)
        yield Difference(path=path, label=(f"parameter `{name}`",), said="is no longer required")
    yield from differences(_rest(old), _rest(new))


def _one_parameter(name: str, before: JsonObject, after: JsonObject) -> Iterator[Difference]:
    label, path = f"parameter `{name}`", (_TAKEN, "properties", name)
    if name not in after:
        yield Difference(path=(_TAKEN,), label=(label,), said="is gone")
    elif name not in before:
        yield Difference(path=path, label=(label,), said="is new")
    else:
        for found in differences(before[name], after[name]):
            inner = ".".join(found.label)
            said = f"{inner} {found.said}" if inner else found.said
            yield replace(found, path=(*path, *found.path), label=(label,), said=said)


def _parameters(content: JsonObject) -> JsonObject:
    properties = _schema(content).get("properties")
    return properties if isinstance(properties, dict) else {}


def _required(content: JsonObject) -> set[str]:
    required = _schema(content).get("required")
    return {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()


def _schema(content: JsonObject) -> JsonObject:
    schema = content.get(_TAKEN)
    return schema if isinstance(schema, dict) else {}


def _rest(content: JsonObject) -> JsonObject:
    """All that is not told parameter by parameter."""
    schema: dict[str, JsonValue] = {key: value for key, value in _schema(content).items() if key != "properties"}
    parameters = _parameters(content)
    required = schema.pop("required", None)
    if isinstance(required, list):
        unknown: list[JsonValue] = [name for name in required if not isinstance(name, str) or name not in parameters]
        if unknown:
            schema["required"] = unknown
    return {**content, _TAKEN: schema}
