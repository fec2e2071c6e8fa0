"""`${VAR}` and `${VAR:default}` in configuration documents; imports nothing heavy."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tuvl.errors import ConfigError
from tuvl.values import JsonValue, KeyPath, format_path

VARIABLE = re.compile(r"\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::([^{}]*))?\}|)")
"""A variable; the empty alternative meets a `${` that starts none."""


class Variable(NamedTuple):
    """One variable that a value reads: its name, its default (`None` without one), and where it stands."""

    name: str
    default: str | None
    path: KeyPath


def variables(value: JsonValue, path: KeyPath = ()) -> Iterator[Variable]:
    """Yield the variables that the texts of a value read, in order; what is no well-formed variable is left out."""
    if isinstance(value, str):
        for match in VARIABLE.finditer(value):
            if match[1]:
                yield Variable(match[1], match[2], path)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from variables(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from variables(item, (*path, index))


def expand(value: JsonValue, *, environ: Mapping[str, str], where: str) -> JsonValue:
    """Return the value with every variable in its texts replaced; keys stay as they are, and nothing is read twice.

    Args:
        value: Any JSON value; only texts are looked at.
        environ: Where variables are read from.
        where: The document or field, for messages.

    Raises:
        ConfigError: A variable has neither a value nor a default, or a `${` starts no variable.
    """
    return _expand(value, environ, where, ())


def _expand(value: JsonValue, environ: Mapping[str, str], where: str, path: KeyPath) -> JsonValue:
    if isinstance(value, str):
        return _expand_text(value, environ, where, path) if "${" in value else value
    if isinstance(value, dict):
        return {key: _expand(item, environ, where, (*path, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_expand(item, environ, where, (*path, index)) for index, item in enumerate(value)]
    return value


def _expand_text(text: str, environ: Mapping[str, str], where: str, path: KeyPath) -> str:
    field = f"{where}, field {format_path(path)!r}" if path else where

    def replace(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if not name:
            raise ConfigError(f"{field}: a `${{` starts no variable; write `${{NAME}}` or `${{NAME:default}}`")
        if name in environ:
            return environ[name]
        if default is None:
            raise ConfigError(
                f"{field}: the environment has no variable {name!r}; set it, or give a default: `${{{name}:…}}`"
            )
        return default

    return VARIABLE.sub(replace, text)
