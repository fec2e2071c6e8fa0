"""`secure` fields: masked in everything that leaves the database, and remembered so that a run's result masks them."""

from collections.abc import Callable, Mapping, Set

from tuvl.redaction import MASK
from tuvl.values import JsonObject, JsonValue

_MIN_LENGTH = 4
"""Shorter values are not looked for in other texts: they would blank out ordinary words and numbers."""


class SecureValues:
    """The values that secure fields were given in one run; they are masked wherever they turn up afterwards."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self.added: Callable[[], None] | None = None
        """Called when there is a new one."""

    def __bool__(self) -> bool:
        return bool(self._values)

    @property
    def texts(self) -> Set[str]:
        """The values as texts."""
        return self._values

    def add(self, value: JsonValue) -> None:
        """Remember what a secure field was given."""
        match value:
            case str() if len(value) >= _MIN_LENGTH:
                self._remember(value)
            case list():
                for item in value:
                    self.add(item)
            case dict():
                for item in value.values():
                    self.add(item)
            case int() | float() if not isinstance(value, bool) and len(str(value)) >= _MIN_LENGTH:
                self._remember(str(value))

    def _remember(self, text: str) -> None:
        if text not in self._values:
            self._values.add(text)
            if self.added is not None:
                self.added()

    def masked(self, value: JsonValue) -> JsonValue:
        """Return a value with everything remembered masked, at any depth and inside longer texts."""
        return self._masked(value, sorted(self._values, key=len, reverse=True)) if self._values else value

    def without_beginnings(self, text: str) -> str:
        """Return a text that goes on without what may be the beginning of a value at its end."""
        cut = len(text)
        for secret in self._values:
            for length in range(min(len(secret) - 1, len(text)), 0, -1):
                if text.endswith(secret[:length]):
                    cut = min(cut, len(text) - length)
                    break
        return text[:cut]

    def _masked(self, value: JsonValue, secrets: list[str]) -> JsonValue:
        match value:
            case str():
                for secret in secrets:
                    if secret in value:
                        value = value.replace(secret, MASK)
                return value
            case list():
                return [self._masked(item, secrets) for item in value]
            case dict():
                return {str(self._masked(key, secrets)): self._masked(item, secrets) for key, item in value.items()}
            case int() | float() if not isinstance(value, bool) and str(value) in self._values:
                return MASK
            case _:
                return value


def mask_fields(record: Mapping[str, JsonValue], secure: frozenset[str]) -> JsonObject:
    """Return a record with its secure fields masked; a field without a value stays `null`."""
    return {name: MASK if name in secure and value is not None else value for name, value in record.items()}
