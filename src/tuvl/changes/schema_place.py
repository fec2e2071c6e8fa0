"""One place in a JSON Schema, and what stands around it."""

from collections.abc import Mapping
from typing import Any

from tuvl.analysis.steps import items, mapping
from tuvl.changes.schema_values import types_in
from tuvl.dataclass import dataclass
from tuvl.values import KeyPath

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


NOTES_AND_VALUES = frozenset(NOTES) | {"type", "enum", "const", "$defs", "$schema", "$id"}
"""Keywords of a schema that does no more than list values."""

_BEARING = frozenset(
    {
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "$dynamicRef", "propertyNames"),
        *("patternProperties", "dependentSchemas", "dependentRequired", "contains"),
    }
)
"""Keywords that bear on the same values as others beside them."""


def is_plain(schema: object) -> bool:
    """Whether each keyword of a schema says what it says of a value by itself."""
    table = mapping(schema)
    return not table.keys() & _BEARING and table.keys() <= READ


def is_union(schema: object) -> bool:
    """Whether a schema is a list of alternatives and nothing else."""
    table = mapping(schema)
    return "anyOf" in table and not table.keys() - {*NOTES, "anyOf", "$defs", "$schema", "$id"}


def takes(schema: object) -> frozenset[str]:
    """Types of which a schema may take a value; those that others beside it refuse are among them."""
    if schema is False:
        return frozenset()
    table = mapping(schema)
    types = types_in(table)
    branches = items(table.get("anyOf"))
    return types & frozenset().union(*map(takes, branches)) if branches else types


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


def listed(values: list[object]) -> str:
    """Write some values for a person."""
    return ", ".join(repr(value) for value in values[:8]) + (" …" if len(values) > 8 else "")


def words(types: frozenset[str]) -> str:
    """Write types for a person."""
    return ", ".join(sorted(types))
