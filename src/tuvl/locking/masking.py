"""What is locked of a document: all it says, and no secret that stands in it."""

import re

from tuvl.analysis.literal_secrets import SHAPES, literal_secrets, names_a_credential
from tuvl.values import JsonValue, KeyPath

MASK = "(secret)"
"""What stands in the lock for a secret."""

_DEFAULT = re.compile(r"(\$\{[A-Za-z_][A-Za-z0-9_]*):[^{}]*\}")
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
    if by_name and names_a_credential(name):
        return _DEFAULT.sub(rf"\1:{MASK}}}", value) if "${" in value else MASK
    shown = _PASSWORD_IN_URL.sub(rf"\1:{MASK}@", SHAPES.sub(MASK, value))
    return MASK if path in found and shown == value else shown
