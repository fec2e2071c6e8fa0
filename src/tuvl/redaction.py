"""Secret values, kept out of every text that leaves tuvl: logs, errors, events, traces, messages to a model.

A value becomes a secret when it is expanded from the environment into a field that holds credentials. The register
is one for the process: a secret is a secret wherever it turns up.
"""

from collections.abc import Callable, Set

from tuvl.values import JsonValue

MASK = "***"

_MIN_LENGTH = 6
"""Shorter values are not masked: they would blank out ordinary text."""

_secrets: set[str] = set()


def register_secret(value: str) -> None:
    """Keep `value` out of every text from now on."""
    if len(value) >= _MIN_LENGTH:
        _secrets.add(value)


def redact_json(value: JsonValue) -> JsonValue:
    """Return a JSON value with every registered secret masked in its texts, at any depth; keys included."""
    return _redact_json(value) if _secrets else value


def _redact_json(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): _redact_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_redact_json(item) for item in value]
    return value


class StreamRedactor:
    """Masks secrets in a text that comes in pieces: what may be the beginning of one waits for its end.

    `also` gives values that are secret for this text alone, beside the registered ones.
    """

    def __init__(self, also: Callable[[], Set[str]] = frozenset) -> None:
        self._also = also
        self._waiting = ""

    def feed(self, piece: str) -> str:
        """Return what may go out by now."""
        secrets = self._also() | _secrets
        if not secrets:
            return piece
        text = _masked(self._waiting + piece, secrets)
        kept = max(_beginning_at_end(text, secret) for secret in secrets)
        self._waiting = text[len(text) - kept :]
        return text[: len(text) - kept]

    def end(self) -> str:
        """Return what waited: it was no secret after all."""
        text, self._waiting = self._waiting, ""
        return text


def _beginning_at_end(text: str, secret: str) -> int:
    """Return the length of the longest end of `text` that `secret` begins with, without being all of it."""
    at = text.find(secret[0], max(0, len(text) - len(secret) + 1))
    while at >= 0:
        if secret.startswith(text[at:]):
            return len(text) - at
        at = text.find(secret[0], at + 1)
    return 0


def redact(text: str) -> str:
    """Return `text` with every registered secret masked, the longest first."""
    return _masked(text, _secrets) if _secrets else text


def _masked(text: str, secrets: Set[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        if secret in text:
            text = text.replace(secret, MASK)
    return text
