"""Writes one level of a JSON Schema the plain way: what means the same comes out the same, and `allOf` is merged.

Nothing is lost: what cannot be merged exactly stays in `allOf`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tuvl.analysis.steps import items, mapping
from tuvl.changes.conditions import as_float
from tuvl.changes.schema_merge import merged
from tuvl.changes.schema_place import NOTES
from tuvl.changes.schema_values import EVERY, allowed, named_types, type_of, without
from tuvl.dataclass import dataclass
from tuvl.values import canonical

Resolve = Callable[[str], object | None]
"""`$ref` → what it leads to; `None` when it leads nowhere."""

_ROOTS = frozenset({"$defs", "$schema", "$id", "$anchor"})
_NOTHING: Mapping[str, object] = {
    "minLength": 0,
    "minItems": 0,
    "minProperties": 0,
    "uniqueItems": False,
    "required": [],
    "properties": {},
    "patternProperties": {},
    "allOf": [],
    "additionalProperties": True,
    "items": True,
    "propertyNames": True,
}
_OPEN_PATTERNS = ("", "^", ".*", "^.*", "(.*)")
_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"),
    "object": (
        *("properties", "patternProperties", "additionalProperties", "propertyNames", "required"),
        *("minProperties", "maxProperties", "dependentRequired", "dependentSchemas"),
    ),
}
_DEEPEST = 24
_MOST = 300
"""Schemas that are looked into for one; past them the rest stays as it is written."""


def simplified(schema: object, resolve: Resolve) -> object:
    """Return what a schema amounts to; the schemas below it stay as they are written."""
    return _simplified(schema, _Work(resolve), ())


@dataclass(slots=True)
class _Work:
    resolve: Resolve
    left: int = _MOST


def _simplified(schema: object, work: _Work, within: tuple[str, ...]) -> object:
    if not isinstance(schema, dict) or len(within) > _DEEPEST or work.left <= 0:
        return schema
    work.left -= 1
    found: object = schema
    ref = schema.get("$ref")
    if isinstance(ref, str) and ref not in within:
        target = work.resolve(ref)
        if target is not None:
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            found = merged(_simplified(target, work, (*within, ref)), _without_roots(beside))
    within = (*within, ref if isinstance(ref, str) else "")
    for keyword in ("allOf", "anyOf", "oneOf"):
        if isinstance(found, dict) and keyword in found and not _looks_round(found):
            found = _opened(found, keyword, work, within)
    return _plain(found) if isinstance(found, dict) else found


def _without_roots(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in _ROOTS}


def _looks_round(table: Mapping[str, Any]) -> bool:
    """Whether it holds what looks at the schemas beside it, which must stay where they are."""
    return "unevaluatedProperties" in table or "unevaluatedItems" in table


def _opened(table: dict[str, Any], keyword: str, work: _Work, within: tuple[str, ...]) -> object:
    branches = [_simplified(branch, work, within) for branch in items(table[keyword])]
    if any(isinstance(branch, dict) and _looks_round(branch) for branch in branches):
        return table
    rest: object = {key: value for key, value in table.items() if key != keyword}
    if keyword == "allOf":
        for branch in branches:
            rest = merged(rest, branch)
        return rest
    one = _as_one(branches, exactly_one=keyword == "oneOf")
    if one is not None:
        return merged(rest, one[0])
    return table


def _as_one(branches: list[object], *, exactly_one: bool) -> tuple[object] | None:
    """One schema for several branches, where there is one: only values, only types, or one branch that counts."""
    branches = [branch for branch in branches if branch is not False]
    if not branches:
        return (False,)
    if len(branches) == 1:
        return (branches[0],)
    bare = [_bare(branch) for branch in branches]
    if not exactly_one and any(branch in (True, {}) for branch in bare):
        return ({},)
    tables = [mapping(branch) for branch in bare]
    if not all(tables):
        return None
    lists = [_values(table) for table in tables]
    types = [named_types(table) for table in tables]
    if all(values is not None for values in lists):
        every = [value for values in lists for value in values or ()]
        apart = len(without(every, [])) == len(every)
        return ({"enum": every},) if apart or not exactly_one else None
    if all(table.keys() == {"type"} for table in tables):
        together = [name for each in types for name in each]
        apart = len(set(together)) == len(together) and not {"number", "integer"} <= set(together)
        return ({"type": list(dict.fromkeys(together))},) if apart or not exactly_one else None
    return None


def _bare(branch: object) -> object:
    return {key: value for key, value in branch.items() if key not in NOTES} if isinstance(branch, dict) else branch


def _values(table: Mapping[str, Any]) -> list[object] | None:
    """The values of a branch that only lists them; `null` and booleans are lists, too."""
    if table.keys() in ({"enum"}, {"const"}):
        return allowed(table)
    if table.keys() == {"type"} and set(named_types(table)) <= {"null", "boolean"}:
        lists: dict[str, list[object]] = {"null": [None], "boolean": [False, True]}
        return [value for name in named_types(table) for value in lists[name]]
    return None


def _plain(table: dict[str, Any]) -> object:
    """Write a schema without what says nothing, and its types and values in one way."""
    found = {key: value for key, value in table.items() if key not in _NOTHING or _NOTHING[key] != value or value == 1}
    if isinstance(found.get("pattern"), str) and found["pattern"] in _OPEN_PATTERNS:
        del found["pattern"]
    values = allowed(found)
    types = named_types(found)
    if values is not None:
        if types:
            values = [value for value in values if type_of(value) in _widened(types)]
        rest = {key: value for key, value in found.items() if key not in ("const", "enum", "type")}
        if "const" in found and values and type_of(values[0]) != "null":
            return {**rest, "const": values[0]}
        return _listed(rest, values)
    if not types:
        return found
    return _typed({key: value for key, value in found.items() if key != "type"}, set(types))


def _widened(types: tuple[str, ...]) -> frozenset[str]:
    return frozenset(types) | ({"integer"} if "number" in types else set())


def _listed(rest: dict[str, Any], values: list[object]) -> object:
    """A list of values; one of all values of its types is written as the types."""
    kinds = {type_of(value) for value in values}
    whole = {canonical(value) for value in values}  # type: ignore[arg-type]
    if kinds and kinds <= {"null", "boolean"} and ("boolean" not in kinds or {"true", "false"} <= whole):
        return _typed(rest, kinds)
    return {**rest, "enum": without(values, [])} if values else False


def _typed(rest: dict[str, Any], types: set[str]) -> object:
    multiple = rest.get("multipleOf")
    if "number" in types:
        types.discard("integer")
        if isinstance(multiple, int | float) and not isinstance(multiple, bool) and as_float(multiple).is_integer():
            types = types - {"number"} | {"integer"}
    if "integer" in types and multiple == 1:
        rest = {key: value for key, value in rest.items() if key != "multipleOf"}
    for kind, keywords in _OF_TYPE.items():
        if kind not in types and not (kind == "number" and "integer" in types):
            rest = {key: value for key, value in rest.items() if key not in keywords}
    if types | {"integer"} >= EVERY:
        return rest
    return {**rest, "type": sorted(types)}
