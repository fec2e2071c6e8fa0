"""One place in a JSON Schema, and what stands around it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tuvl.analysis.steps import items, mapping
from tuvl.changes.schema_values import types_in
from tuvl.values import KeyPath, canonical

NOTES = ("title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment")
"""Keywords for people and models, which no value is held against."""

READ = frozenset(NOTES) | {
    *("type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "pattern", "format"),
    *("uniqueItems", "required", "properties", "patternProperties", "additionalProperties", "unevaluatedProperties"),
    *("items", "prefixItems", "unevaluatedItems", "contains", "minContains", "maxContains", "propertyNames"),
    *("allOf", "anyOf", "oneOf", "$ref", "$defs", "$schema", "$id", "$anchor", "nullable"),
    *("dependentSchemas", "dependentRequired"),
}
"""Keywords that a comparison looks at one by one."""


@dataclass(frozen=True, slots=True)
class At:
    """A schema, where it stands, and the place in the value it speaks of."""

    schema: object
    path: KeyPath
    where: str

    @property
    def table(self) -> Mapping[str, Any]:
        """Its keywords; of `true` and `false` none, see `never`."""
        return mapping(self.schema)

    @property
    def never(self) -> bool:
        """Whether no value passes."""
        return self.schema is False

    @property
    def open(self) -> bool:
        """Whether every value passes."""
        return not self.never and not (self.table.keys() - set(NOTES) - {"$schema", "$id", "$defs"})

    def at(self, *keys: str | int, where: str | None = None, default: object = True) -> "At":
        """The schema below; `default` where there is none."""
        value: object = self.schema
        for key in keys:
            if isinstance(key, int):
                entries = items(value)
                value = entries[key] if key < len(entries) else default
            else:
                value = mapping(value).get(key, default)
        return At(value, (*self.path, *keys), self.where if where is None else where)


def both_take(kind: str, old: At, new: At) -> bool:
    """Whether both schemas take values of a type."""
    return kind in types_in(old.table) and kind in types_in(new.table)


def rest_of(at: At, where: str | None = None) -> At:
    """The schema of properties that are not named."""
    keyword = "additionalProperties"
    if keyword not in at.table and "unevaluatedProperties" in at.table:
        keyword = "unevaluatedProperties"
    return at.at(keyword, where=below(at.where, "*") if where is None else where)


def item_of(at: At, index: int) -> At:
    """The schema of an item of a list."""
    prefix = items(at.table.get("prefixItems"))
    if index < len(prefix):
        return at.at("prefixItems", index, where=f"{at.where}[{index}]")
    keyword = "items" if "items" in at.table or "unevaluatedItems" not in at.table else "unevaluatedItems"
    return at.at(keyword, where=f"{at.where}[]")


def below(where: str, name: str) -> str:
    """The place of a property of the value."""
    return f"{where}.{name}" if where else name


def names_in(value: object) -> tuple[str, ...]:
    """The texts of a list."""
    return tuple(name for name in items(value) if isinstance(name, str))


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


def refers(value: object) -> bool:
    """Whether a `$ref` stands anywhere in a value."""
    waiting: list[object] = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "$ref" in part or "$dynamicRef" in part:
                return True
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return False


def without(values: list[object], others: list[object]) -> list[object]:
    """The values that are not among others."""
    known = {_same(value) for value in others}
    return [value for value in values if _same(value) not in known]


def _same(value: object) -> str:
    # JSON Schema holds 1 and 1.0 for the same.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return canonical(value)  # type: ignore[arg-type]


def listed(values: list[object]) -> str:
    """Write some values for a person."""
    return ", ".join(repr(value) for value in values[:8]) + (" …" if len(values) > 8 else "")


def words(types: frozenset[str]) -> str:
    """Write types for a person."""
    return ", ".join(sorted(types))
