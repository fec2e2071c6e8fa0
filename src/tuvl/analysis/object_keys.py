"""Which keys an object may have by its JSON Schema, and which it must: through `$ref`, `allOf`, `anyOf` and their like.

Where nobody can tell without a validator (a pattern, `not`, a schema that depends on others), a key may be there.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from tuvl.analysis.schema_facts import lists_keys, pointed, required_of, types_of
from tuvl.analysis.steps import items, mapping

_DEEPEST = 64
_MOST_PARTS = 200
"""Schemas that hold together beyond which a key is not looked for in each."""
_LITERAL = re.compile(r"\^([A-Za-z0-9_-]*)")
_OTHERS = frozenset({"array", "boolean", "integer", "null", "number", "string"})
"""The types of JSON that are no object."""
_ANY = frozenset({"object"})
_QUANTIFIERS = ("*", "?", "+", "{")

_Schema = Mapping[str, Any]
_Leaf = Callable[[_Schema], bool]


class ObjectKeys:
    """What one JSON Schema says of the keys of an object."""

    def __init__(self, schema: _Schema) -> None:
        self.schema = schema
        self._may: dict[str, bool] = {}

    @cached_property
    def named(self) -> frozenset[str]:
        """Keys that it names, and lets an object have."""
        names = {name for part in self._in_place(self.schema) for name in _names(part)}
        return frozenset(name for name in names if self.may_have(name))

    @cached_property
    def required(self) -> frozenset[str]:
        """Keys that it asks of every object."""
        return frozenset(name for part in self._all_of(self.schema) for name in required_of(part))

    @cached_property
    def is_open(self) -> bool:
        """Whether there may be keys that it does not name."""
        return self._holds(self.schema, self._leaves_open)

    @cached_property
    def fits_no_object(self) -> bool:
        """Whether it lets no object pass at all, whatever its keys."""
        # A type that JSON does not have is a mistake of its own, and says nothing.
        return not self._holds(self.schema, lambda part: not (types_of(part) or _ANY) <= _OTHERS)

    @property
    def is_silent(self) -> bool:
        """Whether it says nothing of keys: any may be there, and nothing lists them."""
        return self.is_open and not self._lists

    def is_silent_on(self, name: str) -> bool:
        """Whether a key may be there for all that is said of it."""
        return not self._lists and self.may_have(name)

    @cached_property
    def _lists(self) -> bool:
        return any(lists_keys(part) for part in self._in_place(self.schema))

    def may_have(self, name: str) -> bool:
        """Whether an object with this key may pass."""
        if name not in self._may:
            self._may[name] = self._holds(self.schema, lambda part: self._admits(part, name))
        return self._may[name]

    def _holds(self, schema: _Schema, leaf: _Leaf) -> bool:
        """Whether something is said by a schema and all it applies as well, of alternatives by one of them."""
        known: dict[int, bool] = {}
        if self._is_large:
            return True

        def of(part: object, depth: int) -> bool:
            if _refuses(part):
                return False
            if not isinstance(part, dict) or depth > _DEEPEST:
                return True
            if id(part) not in known:
                known[id(part)] = True  # what leads back here says no more
                known[id(part)] = (
                    leaf(part)
                    and all(of(each, depth + 1) for each in self._applied(part))
                    and all(any(of(each, depth + 1) for each in branches) for branches in _alternatives(part))
                )
            return known[id(part)]

        return of(schema, 0)

    @cached_property
    def _is_large(self) -> bool:
        return len(self._in_place(self.schema)) > _MOST_PARTS

    def _applied(self, schema: _Schema) -> Iterator[object]:
        """Schemas that hold beside a schema."""
        yield from items(schema.get("allOf"))
        ref = schema.get("$ref")
        found = pointed(self.schema, ref) if isinstance(ref, str) and not self._has_ids else None
        if found is not None:
            yield found[0]

    @cached_property
    def _has_ids(self) -> bool:
        """Whether a part has an `$id` of its own, from which references in it are counted."""
        waiting: list[object] = [self.schema]
        while waiting:
            part = waiting.pop()
            if isinstance(part, dict):
                if "$id" in part:
                    return True
                waiting.extend(part.values())
            elif isinstance(part, list):
                waiting.extend(part)
        return False

    def _all_of(self, schema: _Schema) -> list[_Schema]:
        """A schema, and all that hold wherever it does."""
        return self._closure(schema, self._applied)

    def _in_place(self, schema: _Schema) -> list[_Schema]:
        """A schema, and all that may be applied to the same object."""

        def applied(part: _Schema) -> Iterator[object]:
            yield from self._applied(part)
            for branches in _alternatives(part):
                yield from branches
            yield part.get("if")
            yield from mapping(part.get("dependentSchemas")).values()

        return self._closure(schema, applied)

    @staticmethod
    def _closure(schema: _Schema, below: Callable[[_Schema], Iterator[object]]) -> list[_Schema]:
        found: dict[int, _Schema] = {}
        waiting: list[object] = [schema]
        while waiting:
            part = waiting.pop()
            if isinstance(part, Mapping) and id(part) not in found:
                found[id(part)] = part
                waiting.extend(below(part))
        return list(found.values())

    def _admits(self, schema: _Schema, name: str) -> bool:
        """Whether the keywords of a schema itself let a key through."""
        values = _values(schema)
        if schema.get("maxProperties") == 0 or not _name_fits(schema.get("propertyNames", True), name):
            return False
        if values is not None and not any(name in mapping(value) for value in values):
            return False
        if name in mapping(schema.get("properties")):
            return not _refuses(mapping(schema.get("properties"))[name])
        if any(_may_match(pattern, name) and not _refuses(part) for pattern, part in _patterns(schema).items()):
            return True
        if "additionalProperties" in schema:
            return not _refuses(schema["additionalProperties"])
        return not _refuses(schema.get("unevaluatedProperties", True)) or self._is_evaluated(schema, name)

    def _is_evaluated(self, schema: _Schema, name: str) -> bool:
        """Whether a part of a schema speaks of a key, so that `unevaluatedProperties` does not."""
        return any(
            name in mapping(part.get("properties"))
            or any(_may_match(pattern, name) for pattern in _patterns(part))
            or _takes_all(part)
            for part in self._in_place(schema)
        )

    def _leaves_open(self, schema: _Schema) -> bool:
        """Whether the keywords of a schema itself let keys through that nothing names."""
        names = schema.get("propertyNames", True)
        if schema.get("maxProperties") == 0 or _values(schema) is not None or _refuses(names):
            return False
        if _values(mapping(names)) is not None:
            return False
        if any(not _refuses(part) for part in _patterns(schema).values()):
            return True
        if "additionalProperties" in schema:
            return not _refuses(schema["additionalProperties"])
        if not _refuses(schema.get("unevaluatedProperties", True)):
            return True
        return any(_takes_all(part) or bool(_patterns(part)) for part in self._in_place(schema))


def _alternatives(schema: _Schema) -> Iterator[list[object]]:
    """Lists of schemas of which one at least holds beside a schema."""
    for keyword in ("anyOf", "oneOf"):
        if branches := items(schema.get(keyword)):
            yield branches
    if "if" in schema:
        yield [schema.get("then", True), schema.get("else", True)]


def _refuses(schema: object) -> bool:
    """Whether no value passes: `false`, in one of its spellings."""
    return schema is False or (isinstance(schema, Mapping) and schema.get("not") in ({}, True) and "not" in schema)


def _takes_all(schema: _Schema) -> bool:
    """Whether a schema speaks of every key."""
    keywords = ("additionalProperties", "unevaluatedProperties")
    return any(keyword in schema and not _refuses(schema[keyword]) for keyword in keywords)


def _values(schema: _Schema) -> list[Any] | None:
    """The only values there are, if a schema lists them."""
    if "const" in schema:
        return [schema["const"]]
    return items(schema.get("enum")) if "enum" in schema else None


def _names(schema: _Schema) -> Iterator[str]:
    yield from mapping(schema.get("properties"))
    yield from required_of(schema)
    for value in _values(schema) or ():
        yield from mapping(value)
    yield from (name for name in _values(mapping(schema.get("propertyNames"))) or () if isinstance(name, str))


def _patterns(schema: _Schema) -> Mapping[str, Any]:
    return mapping(schema.get("patternProperties"))


def _name_fits(schema: object, name: str) -> bool:
    """Whether `propertyNames` may let a name through."""
    if _refuses(schema):
        return False
    known = mapping(schema)
    values, pattern = _values(known), known.get("pattern")
    return (values is None or name in values) and (not isinstance(pattern, str) or _may_match(pattern, name))


def _may_match(pattern: str, name: str) -> bool:
    """Whether a name may match; only what begins with plain text is told for sure, so that no pattern is run."""
    start = _LITERAL.match(pattern)
    if start is None or "|" in pattern:
        return True
    literal, rest = start[1], pattern[start.end() :]
    if rest.startswith(_QUANTIFIERS):
        literal = literal[:-1]
    return name == literal if rest == "$" else name.startswith(literal)
