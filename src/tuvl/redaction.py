"""Secret values, kept out of every text that leaves tuvl: logs, errors, events, traces, messages to a model.

A value becomes a secret when it is expanded from the environment into a field that holds credentials. The register
is one for the process: a secret is a secret wherever it turns up.
"""

MASK = "***"

_MIN_LENGTH = 6
"""Shorter values are not masked: they would blank out ordinary text."""

_secrets: set[str] = set()


def register_secret(value: str) -> None:
    """Keep `value` out of every text from now on."""
    if len(value) >= _MIN_LENGTH:
        _secrets.add(value)


def redact(text: str) -> str:
    """Return `text` with every registered secret masked, the longest first."""
    if not _secrets:
        return text
    for secret in sorted(_secrets, key=len, reverse=True):
        if secret in text:
            text = text.replace(secret, MASK)
    return text
