"""Names resolve to data, and only to data: a key of a mapping or an index of a list, never an attribute."""

from collections.abc import Mapping
from typing import TypeAlias

from tuvl.dataclass import dataclass
from tuvl.errors import TemplateError
from tuvl.suggest import did_you_mean
from tuvl.values import JsonValue, dump_json


@dataclass(frozen=True, slots=True)
class Missing:
    """What a name resolves to when it is not there; using it is an error, `default` and `is defined` are not.

    `path` is the dotted path as written, `reason` why it ends, `wanted` and `among` the key and where it was looked up.
    """

    path: str
    reason: str = ""
    wanted: str = ""
    among: Mapping[str, JsonValue] | None = None


Value: TypeAlias = "JsonValue | Missing"


def kind_of(value: JsonValue) -> str:
    """Name the kind of a value, for a message."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a mapping"


def require(value: Value) -> JsonValue:
    """Insist on a value; raises `TemplateError` naming what is undefined."""
    if isinstance(value, Missing):
        reason = f": {value.reason}" if value.reason else ""
        hint = did_you_mean(value.wanted, [name for name in value.among or () if not name.startswith("_")])
        raise TemplateError(f"{value.path!r} is undefined{reason}{'; ' + hint if hint else ''}")
    return value


def read_name(values: Mapping[str, JsonValue], name: str) -> Value:
    """Look a name up in the values given."""
    if name in values:
        return values[name]
    return Missing(name, wanted=name, among=values)


def member(target: Value, key: str | int, path: str) -> Value:
    """Follow one segment; `path` is how the target was written."""
    if isinstance(target, dict):
        text = key if isinstance(key, str) else str(key)
        if text in target:
            return target[text]
        return Missing(f"{path}.{text}", f"{path!r} has no key {text!r}", text, target)
    if isinstance(target, list):
        return _item(target, key, path)
    if isinstance(target, Missing):
        return Missing(
            f"{target.path}.{key}", target.reason or f"there is no {target.path!r}", target.wanted, target.among
        )
    if isinstance(target, str) and isinstance(key, int) and -len(target) <= key < len(target):
        return target[key]
    return Missing(f"{path}.{key}", f"{path!r} is {kind_of(target)}")


def _item(items: list[JsonValue], key: str | int, path: str) -> Value:
    index = key if isinstance(key, int) else int(key) if key.isascii() and key.isdecimal() and len(key) < 10 else None
    if index is None:
        return Missing(f"{path}.{key}", f"{path!r} is a list")
    if -len(items) <= index < len(items):
        return items[index]
    return Missing(f"{path}.{key}", f"{path!r} has {len(items)} items")


def follow(values: Mapping[str, JsonValue], path: tuple[str | int, ...]) -> Value:
    """Follow a dotted path from the values given."""
    value: Value = values.get(str(path[0]), _NOT_THERE)
    for index in range(1, len(path)):
        # The common case first: a key that is there.
        key = path[index]
        if type(value) is dict and key in value:
            value = value[key]
        else:
            return _follow_slowly(values, path)
    return _follow_slowly(values, path) if value is _NOT_THERE else value


def _follow_slowly(values: Mapping[str, JsonValue], path: tuple[str | int, ...]) -> Value:
    written = str(path[0])
    value = read_name(values, written)
    for key in path[1:]:
        value = member(value, key, written)
        written = f"{written}.{key}"
    return value


_NOT_THERE = Missing("")


def to_text(value: JsonValue) -> str:
    """Write a value into a text: text as it is, everything else as JSON."""
    if type(value) is str:
        return value
    try:
        return str(value) if type(value) is int else dump_json(value)
    except ValueError:
        raise TemplateError("a number of thousands of digits cannot be written as text") from None
