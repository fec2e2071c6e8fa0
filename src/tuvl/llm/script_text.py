"""A script as YAML text: block style for structure, JSON strings for values, so that nothing is misread."""

import json
import re

from tuvl.values import JsonValue

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_BREAKS = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)}
"""Characters that JSON leaves as they are and YAML takes for line breaks, or refuses."""


def to_yaml(value: JsonValue, indent: int = 0) -> str:
    """Write a value as YAML lines, each ended by a line break."""
    pad = " " * indent
    if isinstance(value, dict) and value:
        return "".join(f"{pad}{_key(key)}:{_after_key(item, indent)}" for key, item in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{pad}- {to_yaml(item, indent + 2).lstrip(' ')}" for item in value)
    return f"{pad}{_scalar(value)}\n"


def _after_key(value: JsonValue, indent: int) -> str:
    if isinstance(value, dict | list) and value:
        return "\n" + to_yaml(value, indent + 2)
    return f" {_scalar(value)}\n"


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) and key.lower() not in _RESERVED else _scalar(key)


def _scalar(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text.translate(_BREAKS) if isinstance(value, str) else text
