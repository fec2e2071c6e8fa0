"""Literals of a document that read as credentials; see `credentials` for what one is."""

from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.credentials import item_names, reads_as
from tuvl.analysis.fault import Fault
from tuvl.dataclass import dataclass
from tuvl.values import KeyPath


@dataclass(frozen=True, slots=True)
class _Part:
    """One value of a document; its path is put together only where there is something to say."""

    value: object
    names: tuple[str, ...]
    """What leads there: keys, and options that an item of a list comes after."""
    key: str | int
    above: "_Part | None"

    @property
    def path(self) -> KeyPath:
        """Key path of the value."""
        keys: list[str | int] = []
        part: _Part | None = self
        while part is not None and part.above is not None:
            keys.append(part.key)
            part = part.above
        return tuple(reversed(keys))


def literal_secrets(data: Mapping[str, Any]) -> Iterator[Fault]:
    """Strings of a document that read as credentials; the message never holds them."""
    waiting = [_Part(data, (), "", None)]
    while waiting:
        part = waiting.pop()
        value = part.value
        if isinstance(value, dict):
            waiting.extend(_Part(item, (*part.names, str(key)), key, part) for key, item in reversed(value.items()))
        elif isinstance(value, list):
            items = enumerate(zip(value, item_names(value, part.names), strict=True))
            waiting.extend(_Part(item, names, at, part) for at, (item, names) in reversed(list(items)))
        elif isinstance(value, str):
            what = reads_as(value, part.names)
            if what is not None:
                yield Fault(
                    part.path,
                    f"{_field(part.path)!r} holds {what} in the clear",
                    "take it from the environment (`${VAR}`), and replace it at its issuer: it has been in a file",
                )


def _field(path: KeyPath) -> str:
    names = [part for part in path if isinstance(part, str) and part not in ("spec", "steps")]
    return ".".join(names[-2:]) or "the document"
