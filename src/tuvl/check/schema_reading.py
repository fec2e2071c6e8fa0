"""Reads a JSON Schema (2020-12) with its places, without loading the library that runs schemas.

It knows the ordinary keywords. Where a schema uses more, or a pattern that is not plain, the reading is not certain,
and the library has the last word.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from tuvl.dataclass import dataclass
from tuvl.suggest import closest
from tuvl.values import KeyPath

TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")

_PLAIN_PATTERN = re.compile(
    r"(?:[A-Za-z0-9 _@#%&=:;,<>~!'\"/^$.*+?|()\-]"
    r"|\\[dwsbDWSB.+*?()|/\-\[\]{}^$\\]"
    r"|\[[^\[\]\\&~]+\]"
    r"|\{\d{1,3}(?:,\d{0,3})?\})*"
)
"""Patterns that every regular expression engine reads alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaProblem:
    """One thing wrong with a schema; `only_ignored` means it is legal, but has no effect."""

    path: KeyPath
    message: str
    hint: str | None = None
    at_key: bool = False
    only_ignored: bool = False


@dataclass(slots=True)
class SchemaReading:
    """What was found; `certain` is false where the library must be asked."""

    problems: list[SchemaProblem] = field(default_factory=list)
    certain: bool = True

    def wrong(self, path: KeyPath, message: str, hint: str | None = None) -> None:
        """Note a problem at a value."""
        self.problems.append(SchemaProblem(path=path, message=message, hint=hint))


def read_schema(schema: Mapping[str, Any]) -> SchemaReading:
    """Read a schema."""
    reading = SchemaReading()
    pending: list[tuple[object, KeyPath]] = [(schema, ())]
    while pending:
        value, path = pending.pop()
        if isinstance(value, bool):
            continue
        if not isinstance(value, dict):
            reading.wrong(path, "a schema is a mapping, `true` or `false`")
            continue
        for keyword, argument in value.items():
            place = (*path, keyword)
            check = _KEYWORDS.get(keyword)
            if check is not None:
                pending.extend(check(argument, place, reading))
            elif keyword == "$ref":
                _check_ref(argument, place, reading, schema)
            elif keyword not in _ANNOTATIONS:
                _unknown(keyword, place, reading)
    reading.problems.sort(key=lambda problem: [str(part) for part in problem.path])
    return reading


Inner = list[tuple[object, KeyPath]]
_NOTHING: Inner = []


def _unknown(keyword: str, path: KeyPath, reading: SchemaReading) -> None:
    near = closest(keyword, _KEYWORDS)
    if near is None:
        # Perhaps a keyword of an extension: the library knows.
        reading.certain = False
        return
    reading.problems.append(
        SchemaProblem(
            path=path,
            message=f"JSON Schema has no keyword {keyword!r}, so it has no effect",
            hint=f"did you mean {near!r}?",
            at_key=True,
            only_ignored=True,
        )
    )


def _check_ref(argument: object, path: KeyPath, reading: SchemaReading, root: Mapping[str, Any]) -> None:
    if not isinstance(argument, str):
        reading.wrong(path, "`$ref` is a text such as `#/$defs/name`")
    elif not argument.startswith("#"):
        reading.wrong(path, f"`$ref` {argument!r} leads out of the file; nothing is fetched", "use `#/$defs/…`")
    elif argument != "#" and argument.startswith("#/"):
        value: object = root
        for part in argument[2:].split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            value = value.get(name) if isinstance(value, dict) else None
        if value is None:
            reading.wrong(path, f"`$ref` {argument!r} names nothing in this schema")
    elif argument != "#":
        reading.certain = False


def _one(argument: object, path: KeyPath, reading: SchemaReading) -> Inner:
    return [(argument, path)]


def _several(argument: object, path: KeyPath, reading: SchemaReading) -> Inner:
    if not isinstance(argument, list) or not argument:
        reading.wrong(path, f"`{path[-1]}` is a list of schemas, with at least one")
        return _NOTHING
    return [(item, (*path, index)) for index, item in enumerate(argument)]


def _named(argument: object, path: KeyPath, reading: SchemaReading) -> Inner:
    if not isinstance(argument, dict):
        reading.wrong(path, f"`{path[-1]}` is a mapping of names to schemas")
        return _NOTHING
    if path[-1] == "patternProperties":
        for name in argument:
            _pattern(name, (*path, name), reading)
    return [(item, (*path, name)) for name, item in argument.items()]


def _type(argument: object, path: KeyPath, reading: SchemaReading) -> Inner:
    names = argument if isinstance(argument, list) else [argument]
    for name in names:
        if name not in TYPES or not isinstance(name, str):
            near = closest(name, TYPES) if isinstance(name, str) else None
            hint = f"did you mean {near!r}?" if near else f"types are {', '.join(TYPES)}"
            reading.wrong(path, f"{name!r} is no type of JSON Schema", hint)
    if not names or len(set(map(str, names))) < len(names):
        reading.wrong(path, "`type` is one name, or a list of different names")
    return _NOTHING


def _texts(argument: object, path: KeyPath, reading: SchemaReading) -> Inner:
    if not isinstance(argument, list) or not all(isinstance(item, str) for item in argument):
        # `required: true` on a property is how other dialects write it.
        hint = "list the required properties in the object that holds them" if argument in (True, False) else None
        reading.wrong(path, f"`{path[-1]}` is a list of names", hint)
    elif len(set(argument)) < len(argument):
        reading.wrong(path, f"`{path[-1]}` repeats a name")
    return _NOTHING


def _list(argument: object, path: KeyPath, reading: SchemaReading) -> Inner:
    if not isinstance(argument, list):
        reading.wrong(path, f"`{path[-1]}` is a list")
    return _NOTHING


def _number(argument: object, path: KeyPath, reading: SchemaReading) -> Inner:
    if not isinstance(argument, int | float) or isinstance(argument, bool):
        reading.wrong(path, f"`{path[-1]}` is a number")
    elif path[-1] == "multipleOf" and argument <= 0:
        reading.wrong(path, "`multipleOf` is a number above 0")
    return _NOTHING


def _count(argument: object, path: KeyPath, reading: SchemaReading) -> Inner:
    if not isinstance(argument, int) or isinstance(argument, bool) or argument < 0:
        reading.wrong(path, f"`{path[-1]}` is a whole number, 0 or more")
    return _NOTHING


def _flag(argument: object, path: KeyPath, reading: SchemaReading) -> Inner:
    if not isinstance(argument, bool):
        reading.wrong(path, f"`{path[-1]}` is `true` or `false`")
    return _NOTHING


def _text(argument: object, path: KeyPath, reading: SchemaReading) -> Inner:
    if not isinstance(argument, str):
        reading.wrong(path, f"`{path[-1]}` is a text")
    return _NOTHING


def _pattern(argument: object, path: KeyPath, reading: SchemaReading) -> Inner:
    if not isinstance(argument, str):
        reading.wrong(path, "`pattern` is a text")
    elif not _is_plain(argument):
        reading.certain = False
    return _NOTHING


def _is_plain(pattern: str) -> bool:
    if _PLAIN_PATTERN.fullmatch(pattern) is None or "(?" in pattern.replace("(?:", ""):
        return False
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _anything(argument: object, path: KeyPath, reading: SchemaReading) -> Inner:
    return _NOTHING


_CHECKS: tuple[tuple[Callable[[object, KeyPath, SchemaReading], Inner], str], ...] = (
    (_type, "type"),
    (_named, "properties patternProperties $defs dependentSchemas"),
    (_one, "items additionalProperties propertyNames contains not if then else unevaluatedProperties unevaluatedItems"),
    (_several, "allOf anyOf oneOf prefixItems"),
    (_texts, "required"),
    (_list, "enum examples"),
    (_anything, "const default"),
    (_number, "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"),
    (_count, "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains"),
    (_flag, "uniqueItems deprecated readOnly writeOnly"),
    (_text, "title description format $comment $id $anchor contentEncoding contentMediaType"),
    (_pattern, "pattern"),
)
_KEYWORDS: Mapping[str, Callable[[object, KeyPath, SchemaReading], Inner]] = {
    keyword: check for check, keywords in _CHECKS for keyword in keywords.split()
}
_ANNOTATIONS = frozenset({"example", "nullable"})
