"""What the language says of a place in a document: its fields, their descriptions, the values they take."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from tuvl.analysis.steps import items, mapping
from tuvl.spec.schema_files import KINDS, PROSE, load_schema
from tuvl.values import JsonValue, KeyPath

Shape: TypeAlias = Mapping[str, Any]

_REF = "#/$defs/"
_KIND: Shape = {"description": "What the document is.", "enum": list(KINDS)}


def fields_at(kind: str | None, data: JsonValue, path: KeyPath) -> dict[str, Shape]:
    """Field name → its schema, of the mapping at a path; of a mapping that is not decided yet, those of every case."""
    if kind not in KINDS and kind != PROSE:
        return {"kind": _KIND} if not path else {}
    found: dict[str, Shape] = {}
    for shape in shapes_at(kind, data, path):
        for name, field in mapping(shape.get("properties")).items():
            found.setdefault(name, field)
    return found


def field_at(kind: str | None, data: JsonValue, path: KeyPath) -> Shape | None:
    """The schema of the field that a path ends with, description included; `None` for a key of the author's own."""
    if not path or not isinstance(path[-1], str):
        return None
    return fields_at(kind, data, path[:-1]).get(path[-1])


def values_at(kind: str | None, data: JsonValue, path: KeyPath) -> dict[str, str]:
    """The closed set of texts that a value at a path may be, each with what is said of it; empty for an open one."""
    if path == ("kind",) and kind != PROSE:
        return {name: str(load_schema(name).get("description", "")) for name in KINDS}
    found = dict(_decided(kind, data, path))
    for shape in _shapes_of_value(kind, data, path):
        for value in [*items(shape.get("enum")), *([shape["const"]] if "const" in shape else [])]:
            if value is not None:
                found.setdefault("true" if value is True else "false" if value is False else str(value), "")
        if "boolean" in (shape.get("type"), *items(shape.get("type"))):
            found |= {"true": "", "false": ""}
    return found


def shapes_at(kind: str, data: JsonValue, path: KeyPath) -> list[Shape]:
    """The schemas that the value at a path is held against."""
    schema = load_schema(kind)
    walk = _Walk(mapping(schema["$defs"]))
    shapes = walk.resolved(schema, data)
    for part in path:
        data = _child(data, part)
        shapes = [
            below for shape in shapes for child in walk.children(shape, part) for below in walk.resolved(child, data)
        ]
    return shapes


def _shapes_of_value(kind: str | None, data: JsonValue, path: KeyPath) -> list[Shape]:
    return shapes_at(kind, data, path) if kind in KINDS or kind == PROSE else []


def _decided(kind: str | None, data: JsonValue, path: KeyPath) -> Iterator[tuple[str, str]]:
    """The cases of a field that decides what the mapping around it is."""
    if not path or (kind not in KINDS and kind != PROSE):
        return
    schema = load_schema(str(kind))
    walk = _Walk(mapping(schema["$defs"]))
    above: list[Shape] = [schema]
    value: JsonValue = data
    for part in path[:-1]:
        above = [child for shape in above for one in walk.resolved(shape, value) for child in walk.children(one, part)]
        value = _child(value, part)
    for shape in above:
        yield from walk.cases(shape, value, path[-1])


def _child(data: JsonValue, part: str | int) -> JsonValue:
    if isinstance(part, int):
        return data[part] if isinstance(data, list) and part < len(data) else None
    return data.get(part) if isinstance(data, dict) else None


class _Walk:
    """Follows references and choices of one document kind's schema."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def resolved(self, schema: Shape, data: JsonValue) -> list[Shape]:
        """The schemas without references and choices that a value is held against."""
        if "$ref" in schema:
            return self.resolved(mapping(self._definitions[schema["$ref"].removeprefix(_REF)]), data)
        if "x-choice" in schema:
            return [
                shape for name in self._chosen(schema, data) for shape in self.resolved(self._definitions[name], data)
            ]
        if "anyOf" in schema and "properties" not in schema:
            return [shape for branch in schema["anyOf"] for shape in self.resolved(branch, data)]
        return [schema]

    def _chosen(self, schema: Shape, data: JsonValue) -> list[str]:
        choice = schema["x-choice"]
        cases: Mapping[str, str] = choice["cases"]
        tag = data.get(choice["field"]) if isinstance(data, dict) else None
        if isinstance(tag, str) and tag in cases:
            return [cases[tag]]
        others = [choice["else"]] if "else" in choice else []
        if others and isinstance(tag, str):
            return others
        return [*dict.fromkeys(cases.values()), *others]

    def cases(self, schema: Shape, data: JsonValue, field: str | int) -> Iterator[tuple[str, str]]:
        """The values of a field that decides, with what each of them makes of the mapping."""
        if "$ref" in schema:
            yield from self.cases(mapping(self._definitions[schema["$ref"].removeprefix(_REF)]), data, field)
        elif "anyOf" in schema and "properties" not in schema:
            for branch in schema["anyOf"]:
                yield from self.cases(branch, data, field)
        elif "x-choice" in schema and schema["x-choice"]["field"] == field:
            for value, name in schema["x-choice"]["cases"].items():
                yield value, str(self._definitions[name].get("description", ""))
        elif "x-choice" in schema:
            for name in self._chosen(schema, data):
                yield from self.cases(self._definitions[name], data, field)

    def children(self, schema: Shape, part: str | int) -> list[Shape]:
        """The schemas of what stands under a key or an index."""
        if isinstance(part, int):
            return [schema["items"]] if isinstance(schema.get("items"), dict) else []
        properties = mapping(schema.get("properties"))
        if part in properties:
            return [properties[part]]
        return [schema["additionalProperties"]] if isinstance(schema.get("additionalProperties"), dict) else []
