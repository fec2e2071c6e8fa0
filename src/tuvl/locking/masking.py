"""What is locked of a document: all it says, and no secret that stands in it."""

import re

from tuvl.analysis.literal_secrets import SHAPES, literal_secrets, names_a_credential
from tuvl.values import JsonValue, KeyPath

MASK = "(secret)"
"""What stands in the lock for a secret."""

_DEFAULT = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*):[^{}]*\}")
_DEFAULT_IN_URL = re.compile(r"(?<=:)\$\{([A-Za-z_][A-Za-z0-9_]*):[^{}]*\}(?=@)")
_PASSWORD_IN_URL = re.compile(r"(?<=://)([^/\s:@{}$]*):([^/\s@{}$]+)@")


def without_secrets(data: JsonValue, *, configuration: bool) -> JsonValue:
    """Return a copy with every credential masked, and every variable left as it is written.

    Masked is what looks like a credential, and passwords in URLs. In a document of `configuration` so is whatever a
    field says in the clear that is called after a credential, the default of its variable included.
    """
    looking_like_one = {fault.path for fault in literal_secrets(data)} if isinstance(data, dict) else set()
    return _masked(data, (), "", looking_like_one, configuration)


def _masked(value: JsonValue, path: KeyPath, name: str, found: set[KeyPath], by_name: bool) -> JsonValue:
    if isinstance(value, dict):
        return {key: _masked(item, (*path, key), key, found, by_name) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, (*path, index), name, found, by_name) for index, item in enumerate(value)]
    if not isinstance(value, str):
        return value
    if by_name:
        return _configured(value, name, path in found)
    return _shapeless(value, path in found)


def _configured(text: str, name: str, is_secret: bool) -> str:
    if names_a_credential(name):
        return _DEFAULT.sub(_without_default, text) if "${" in text else MASK
    text = _DEFAULT_IN_URL.sub(_without_default, text)
    return _shapeless(_DEFAULT.sub(_without_default_of_credential, text), is_secret)


def _without_default(found: re.Match[str]) -> str:
    return f"${{{found[1]}:{MASK}}}"


def _without_default_of_credential(found: re.Match[str]) -> str:
    return _without_default(found) if names_a_credential(found[1]) else found[0]


def _shapeless(text: str, is_secret: bool) -> str:
    shown = _PASSWORD_IN_URL.sub(rf"\1:{MASK}@", SHAPES.sub(MASK, text))
    return MASK if is_secret and shown == text else shown
