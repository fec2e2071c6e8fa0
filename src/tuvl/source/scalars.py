"""What a plain (unquoted) scalar means: the YAML 1.2 core schema, and where other YAML tools read something else.

Only `true`, `false` and their capitalised forms are booleans; `012` is twelve; dates, `1:30`, `1_000`, `yes` and
`on` are text.
"""

import re
from math import isfinite

from tuvl.values import JsonValue

_WORDS: dict[str, JsonValue] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_NUMBER_STARTS = frozenset("0123456789+-.")
_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NON_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

MAX_DIGITS = 1000
"""Longest number that is read as a number; Python itself refuses to print integers past 4,300 digits."""


class ScalarError(ValueError):
    """A plain scalar that is a number which JSON cannot hold; the message says which, the hint what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def plain_value(text: str) -> JsonValue:
    """Read a plain scalar. Raises `ScalarError` for infinities, NaN and numbers of more than `MAX_DIGITS` digits."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in _NUMBER_STARTS:
        return _number(text)
    return text


def _number(text: str) -> JsonValue:
    if _FLOAT.fullmatch(text) is None:
        if _OCTAL.fullmatch(text):
            return int(_short(text), 8)
        if _HEX.fullmatch(text):
            return int(_short(text), 16)
        if _NON_FINITE.fullmatch(text):
            raise ScalarError(f"{text!r} is a number that JSON cannot hold", "leave the field out for 'no bound'")
        return text
    if _INT.fullmatch(_short(text)):
        return int(text)
    value = float(text)
    if not isfinite(value):
        raise ScalarError(f"{text!r} is too large a number", "quote it if it is meant as text")
    return value


def _short(text: str) -> str:
    if len(text) > MAX_DIGITS:
        raise ScalarError(f"a number of {len(text)} digits is too long", "quote it if it is meant as text")
    return text


_OLD_BOOLEANS = {
    spelling: value
    for word, value in (("yes", "true"), ("no", "false"), ("on", "true"), ("off", "false"))
    for spelling in (word, word.capitalize(), word.upper())
}
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}.*)?")
_ZERO_LED = re.compile(r"[-+]?0[0-9]+")
_UNDERSCORED = re.compile(r"[-+]?[0-9][0-9]*_[0-9_]*(?:\.[0-9_]*)?|0x[0-9a-fA-F]*_[0-9a-fA-F_]*")
_BINARY = re.compile(r"[-+]?0b[01_]+")
_LOOSE_EXPONENT = re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+|[-+]?(?:[0-9]*\.[0-9]*)[eE][0-9]+")
_TRAILING_ZERO = re.compile(r"[-+]?[0-9]+\.[0-9]+0")


def other_reading(text: str) -> str | None:
    """Say what YAML 1.1 tools make of a plain scalar that is read otherwise here; `None` when all agree.

    A number like `1.10`, which is 1.1 to everyone, counts too: as a version it has lost its zero.
    """
    if not text:
        return None
    if text[0] not in _NUMBER_STARTS:
        return _OLD_BOOLEANS.get(text)
    if len(text) > MAX_DIGITS:
        return None
    return _other_number(text)


def _other_number(text: str) -> str | None:
    if _ZERO_LED.fullmatch(text):
        digits = text.lstrip("+-")
        if set(digits) <= set("01234567"):
            return f"the number {int(text, 8)}"
        return "text"
    if _TRAILING_ZERO.fullmatch(text):
        return f"the number {float(text)!r}"
    if _BASE_60.fullmatch(text):
        return f"the number {_base_60(text)}"
    if _UNDERSCORED.fullmatch(text):
        return f"the number {text.replace('_', '')}"
    if _BINARY.fullmatch(text) and text.strip("+-0b_"):
        return f"the number {int(text.replace('_', ''), 2)}"
    if _DATE.fullmatch(text):
        return "a date"
    if _LOOSE_EXPONENT.fullmatch(text) or _OCTAL.fullmatch(text):
        return "text"
    return None


def _base_60(text: str) -> str:
    total = 0.0
    for part in text.lstrip("+-").replace("_", "").split(":"):
        total = total * 60 + float(part or 0)
    return f"{'-' if text.startswith('-') else ''}{total:.12g}"
