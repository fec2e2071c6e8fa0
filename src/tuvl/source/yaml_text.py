"""A JSON value as YAML text: block style for structure, and values written so that nothing is misread."""

import json
import re

from tuvl.values import JsonValue

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PLAIN_WORDS = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_./@(),' -]|:(?=\S))*(?<! )")
"""Texts that a person writes without quotes, and that no reader of YAML takes for anything else."""
_RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_ESCAPED = (
    # Characters that JSON leaves as they are and YAML takes for line breaks, or refuses.
    *range(0x7F, 0xA0),
    *(0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF),
    # Characters that turn or hide the text around them, which a reviewer could not see.
    *(0xAD, 0x061C, 0x180E, 0x200B, 0x200E, 0x200F),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
)
_ESCAPES = {code: f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}" for code in _ESCAPED}


def to_yaml(value: JsonValue, indent: int = 0, *, prose: bool = False) -> str:
    """Write a value as YAML lines, each ended by a line break.

    Texts are JSON strings. With `prose` they are written as people write them where nothing can be misread: words
    without quotes, and texts of several lines line by line.
    """
    pad = " " * indent
    if isinstance(value, dict) and value:
        return "".join(f"{pad}{_key(key)}:{_after_key(item, indent, prose)}" for key, item in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{pad}- {to_yaml(item, indent + 2, prose=prose).lstrip(' ')}" for item in value)
    return f"{pad}{_scalar(value, indent, prose=prose)}\n"


def _after_key(value: JsonValue, indent: int, prose: bool) -> str:
    if isinstance(value, dict | list) and value:
        return "\n" + to_yaml(value, indent + 2, prose=prose)
    return f" {_scalar(value, indent + 2, prose=prose)}\n"


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) and key.lower() not in _RESERVED else _quoted(key)


def _scalar(value: JsonValue, indent: int, *, prose: bool) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    if prose and _PLAIN_WORDS.fullmatch(value) and value.lower() not in _RESERVED:
        return value
    if prose and _can_be_lines(value):
        return _lines(value, indent)
    return _quoted(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).translate(_ESCAPES)


def _can_be_lines(text: str) -> bool:
    return "\n" in text and text.strip() != "" and text.replace("\n", "").isprintable()


def _lines(text: str, indent: int) -> str:
    """Write a literal block; its first line says how it ends, and how far it is indented where that is not plain."""
    told = "2" if text[0] in " \n" else ""
    kept = text.removesuffix("\n")
    ending = "-" if kept == text else "+" if kept.endswith("\n") else ""
    pad = " " * indent
    return "\n".join([f"|{told}{ending}", *(f"{pad}{line}" if line else "" for line in kept.split("\n"))])
