"""What a record says was spent, and the run that goes on has not come to again: it was spent, whatever comes first.

Several lanes of a run go through their entries at once. One that comes to something new reckons with what the others
will pass, as it did when they were beside it.
"""

from collections.abc import Mapping

from tuvl.journal import WHOLE
from tuvl.values import JsonObject

SPENT = "spent"
"""Key under which an entry says what passing it counts."""


class Ahead:
    """The entries that have spent something and are not passed yet, each by its name."""

    def __init__(self, found: Mapping[str, JsonObject]) -> None:
        self._entries = {
            name: spent
            for name, row in found.items()
            if (spent := _spent(row)) is not None and not _is_in_a_whole(name, found)
        }

    def within(self, place: str) -> list[JsonObject]:
        """Return what the entries of a part have spent, each by itself."""
        return [spent for name, spent in self._entries.items() if name.startswith(place)]

    def passed(self, name: str) -> None:
        """Note that the run has come to an entry, or that a part has ended without coming to all that it had."""
        if not self._entries:
            return
        self._entries.pop(name, None)
        place, _, last = name.rpartition("/")
        if last == WHOLE:
            for left in [other for other in self._entries if other.startswith(f"{place}/")]:
                del self._entries[left]


def _spent(row: JsonObject) -> JsonObject | None:
    value = row.get("value")
    spent = value.get(SPENT) if isinstance(value, dict) else None
    return spent if isinstance(spent, dict) else None


def _is_in_a_whole(name: str, found: Mapping[str, JsonObject]) -> bool:
    places = name.split("/")[:-1]
    wholes = ("/".join((*places[: depth + 1], WHOLE)) for depth in range(len(places)))
    return any(whole in found and whole != name for whole in wholes)
