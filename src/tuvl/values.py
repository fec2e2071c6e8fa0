"""The value types every layer shares, and the few pure operations on them; imports nothing of ours."""

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import TypeAlias
from uuid import UUID

JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None
JsonObject: TypeAlias = dict[str, JsonValue]
KeyPath: TypeAlias = tuple[str | int, ...]

MAX_DEPTH = 64
"""Nesting past which a value is refused: deeper than any honest payload, shallower than any recursion limit."""


_MAX_INT_BITS = 13_288
"""Bits of a number of 4,000 digits: Python refuses to write one of more than 4,300 as text."""
_PLAIN_INT = 2**53

# Made once: `json.dumps` makes an encoder for each value.
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


class NotJsonError(ValueError):
    """A value that has no JSON form: a cycle, a too deep nesting, an unknown type; the message names the place."""


def copy_json(value: JsonValue) -> JsonValue:
    """Copy a JSON value; several times faster than `copy.deepcopy`, since JSON has neither cycles nor identity."""
    if isinstance(value, dict):
        return {key: copy_json(item) if isinstance(item, dict | list) else item for key, item in value.items()}
    if isinstance(value, list):
        return [copy_json(item) if isinstance(item, dict | list) else item for item in value]
    return value


def to_json(value: object, *, where: str = "value") -> JsonValue:
    """Turn what Python code returned into a JSON value of its own (nothing is shared with the argument).

    Dates, decimals, UUIDs, bytes, sets, enums, dataclasses and pydantic models have one fixed form each. Cycles,
    nesting past `MAX_DEPTH`, non-finite numbers, lone surrogates and other types raise `NotJsonError`.
    """
    try:
        return _copy_plain(value, 0)
    except _NotPlainError:
        return _to_json(value, where, 0)


class _NotPlainError(Exception):
    """A value is not of JSON's own types throughout, or not a sound one: it needs the long way, which knows places."""


def _copy_plain(value: object, depth: int) -> JsonValue:
    """Copy what is JSON already, as nearly all values are: no place is put into words for each item of it."""
    if type(value) is str:
        if value.isascii():
            return value
    elif value is None or value is True or value is False:
        return value
    elif type(value) is int:
        if -_PLAIN_INT < value < _PLAIN_INT:
            return value
    elif type(value) is float:
        if math.isfinite(value):
            return value
    elif depth < MAX_DEPTH:
        if type(value) is dict:
            return {_plain_key(key): _copy_plain(item, depth + 1) for key, item in value.items()}
        if type(value) is list:
            return [_copy_plain(item, depth + 1) for item in value]
    raise _NotPlainError


def _plain_key(key: object) -> str:
    if type(key) is str and key.isascii():
        return key
    raise _NotPlainError


def _to_json(value: object, where: str, depth: int) -> JsonValue:
    if value is None or value is True or value is False:
        return value
    kind = type(value)
    if kind is str:
        return _checked_text(value, where)  # type: ignore[arg-type]
    if kind is int:
        return _bounded(value, where)  # type: ignore[arg-type]
    if kind is float:
        return _finite(value, where)  # type: ignore[arg-type]
    if depth >= MAX_DEPTH:
        raise NotJsonError(f"{where} is nested deeper than {MAX_DEPTH} levels, or contains itself")
    if isinstance(value, Mapping):
        return {
            _key(key, where): _to_json(item, f"{where}.{key}" if depth < 4 else where, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [
            _to_json(item, f"{where}[{index}]" if depth < 4 else where, depth + 1) for index, item in enumerate(value)
        ]
    return _to_json_special(value, where, depth)


def _to_json_special(value: object, where: str, depth: int) -> JsonValue:
    if isinstance(value, Enum):
        return _to_json(value.value, where, depth + 1)
    if isinstance(value, str):
        return _checked_text(str(value), where)
    if isinstance(value, int):
        return _bounded(int(value), where)
    if isinstance(value, float):
        return _finite(float(value), where)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _text_of_bytes(bytes(value))
    if isinstance(value, set | frozenset):
        items = [_to_json(item, where, depth + 1) for item in value]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _to_json(fields, where, depth)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return _to_json(dump(), where, depth + 1)
    raise NotJsonError(f"{where} is of type {type(value).__name__!r}, which has no JSON form")


def _key(key: object, where: str) -> str:
    if isinstance(key, str):
        return _checked_text(str(key), where)
    if isinstance(key, bool) or key is None:
        return json.dumps(key)
    if isinstance(key, int | float | UUID | Decimal | date):
        return str(key)
    raise NotJsonError(f"{where} has a key of type {type(key).__name__!r}; keys are strings")


def _bounded(value: int, where: str) -> int:
    if value.bit_length() > _MAX_INT_BITS:
        raise NotJsonError(f"{where} is a whole number of more than 4,000 digits")
    return value


def _finite(value: float, where: str) -> float:
    if not math.isfinite(value):
        raise NotJsonError(f"{where} is {value}, which JSON cannot hold")
    return value


def _checked_text(value: str, where: str) -> str:
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        raise NotJsonError(f"{where} holds a lone surrogate, which is not text") from None
    return value


def sound_text(text: str) -> str:
    """Replace lone surrogates, which some models make of half an emoji and no store takes."""
    if text.isascii():
        return text
    sound = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text if sound == text else sound


def _text_of_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def dump_json(value: JsonValue) -> str:
    """Write a JSON value as compact text, non-ASCII kept as it is."""
    return _COMPACT.encode(value)


def json_size(value: JsonValue) -> int:
    """Size of a JSON value in bytes of UTF-8, written compactly."""
    return _bytes(dump_json(value))


def canonical(value: JsonValue) -> str:
    """One text for equal JSON values: keys sorted, and 1 told from 1.0."""
    return _CANONICAL.encode(value)


def truncate(text: str, max_chars: int, max_bytes: int | None = None) -> tuple[str, bool]:
    """Cut `text` to so many characters and bytes of UTF-8, marker included; the flag says whether it was cut."""
    if len(text) <= max_chars and (max_bytes is None or _bytes(text) <= max_bytes):
        return text, False
    marker = f"\n[cut: {len(text)} characters in full]"
    if len(marker) > max_chars or (max_bytes is not None and len(marker) > max_bytes):
        marker = ""
    head = text[: max_chars - len(marker)]
    if max_bytes is not None and _bytes(head) > max_bytes - len(marker):
        # Cutting bytes may split a character; the broken rest of it is left out.
        head = head.encode()[: max_bytes - len(marker)].decode(errors="ignore")
    return head + marker, True


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def shorten(text: str, cap: int = 200) -> str:
    """Make one short line of a text, for a message a person reads; what a terminal would obey is escaped."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= cap else line[: cap - 1] + "…"


_UNSAFE = re.compile(
    # Controls (C0 and C1), what turns or hides text (bidi marks, zero width, tags), line separators, half emoji. The
    # joiners U+200C and U+200D stay: scripts and emoji are made with them.
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    """Escape what a terminal would obey, and what hides text from a person: one line comes of it, safe to print."""
    return text if text.isprintable() else _UNSAFE.sub(_escaped, text)


def printable_lines(text: str) -> str:
    """Do the same and keep the line breaks, which the one who calls this has made."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def escaped_json(text: str) -> str:
    """Escape the same characters in JSON text; its value stays what it was."""
    return text if text.isprintable() else _UNSAFE.sub(_escaped_in_json, text)


def _escaped_in_json(found: re.Match[str]) -> str:
    # Outside of strings JSON text has no control characters but these.
    return found[0] if found[0] in "\n\t\r" else json.dumps(found[0])[1:-1]


def dollars(amount: float | None) -> float | None:
    """Return US dollars as they are shown: to a thousandth of a millionth, without the noise that sums collect."""
    return None if amount is None else round(amount, 9)


def number_text(value: float) -> str:
    """Write a number the way it stands in a file: all its digits and no exponent, unless there are very many."""
    if not isinstance(value, int):
        exact = value.is_integer() and abs(value) < _EXACT
        text = str(int(value)) if exact else repr(value)
        return format(Decimal(text), "f") if "e-0" in text else text
    text = str(value)
    return text if len(text) <= _MOST_DIGITS else f"{text[:_MOST_DIGITS]}… ({len(text)} digits)"


_EXACT = 10**16
_MOST_DIGITS = 40


def dig(value: JsonValue, path: Sequence[str]) -> JsonValue:
    """Follow a dot path; numeric segments index lists. Raises `KeyError` with the segment that is not there."""
    for segment in path:
        if isinstance(value, dict) and segment in value:
            value = value[segment]
        elif isinstance(value, list) and segment.isdecimal() and int(segment) < len(value):
            value = value[int(segment)]
        else:
            raise KeyError(segment)
    return value


def format_path(path: KeyPath) -> str:
    """Write a key path the way people do: `spec.steps[2].agent.model`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def storable(text: str) -> str:
    """Return a text as every store can keep it: without NUL characters, which PostgreSQL has none of, and half ones."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def is_storable(*texts: str | None) -> bool:
    """Tell whether every store can keep texts; what none can keep is in none, whatever is asked."""
    return all(text is None or text == storable(text) for text in texts)


def storable_json(value: JsonValue) -> JsonValue:
    """Return a value whose texts, and names of fields, every store can keep; the same one where that is so."""
    match value:
        case str():
            return storable(value)
        case list():
            return [storable_json(item) for item in value]
        case dict():
            return {storable(name): storable_json(item) for name, item in value.items()}
        case _:
            return value
