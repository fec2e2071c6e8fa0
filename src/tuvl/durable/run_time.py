"""The time of a run over all processes that had it, as its record carries it: each entry says when it was kept."""

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from tuvl.clock import Clock
from tuvl.durable.told import PAUSED, TOLD
from tuvl.values import JsonObject

_CLOSE_S = 1e-5
"""Moments of entries are rounded."""


class RunClock:
    """The clock of one run: its `monotonic` counts the run's own seconds, over all processes that had it."""

    def __init__(self, inner: Clock, *, before_s: float = 0.0) -> None:
        """Begin; `before_s` are the seconds that the run has taken in other processes."""
        self._inner = inner
        self._offset = self._begun = -inner.monotonic()
        self.before_s = before_s

    def now(self) -> datetime:
        """Return the time of day in UTC."""
        return self._inner.now()

    def monotonic(self) -> float:
        """Return the seconds of the run so far; what was done before is passed in no time."""
        return self._inner.monotonic() + self._offset

    def total(self) -> float:
        """Return the seconds of the run in all, also while it passes what is on record."""
        return self._inner.monotonic() + self._begun + self.before_s

    def catch_up(self, at: float) -> None:
        """Go on from a moment of the record, unless it is later already."""
        self._offset += max(0.0, at - self.monotonic())

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._inner.sleep(seconds)


def elapsed_s(found: Mapping[str, JsonObject]) -> float:
    """Return how many seconds a run had taken when its last entry was kept."""
    return max(map(_at, found.values()), default=0.0)


def began_at(found: Mapping[str, JsonObject], place: str) -> float | None:
    """Return when the first work of a part had come to its end; `None` where none of it has."""
    done = (row for name, row in found.items() if name.startswith(place) and _is_work(name))
    return min(map(_at, done), default=None)


def paused_s(found: Mapping[str, JsonObject]) -> float:
    """Return for how long a run was held up that is paused by its record; 0 where it has gone on since."""
    told = [(_at(row), cast(JsonObject, row["value"])) for name, row in found.items() if name.startswith(TOLD)]
    kept = [(at, cast(float, said["seconds"])) for at, said in told if said["kind"] == PAUSED]
    if not kept:
        return 0.0
    at, seconds = max(kept)
    since = at - seconds + _CLOSE_S
    return 0.0 if any(said["kind"] == "resume" and later > since for later, said in told) else seconds


def _is_work(name: str) -> bool:
    return "!" not in name and not name.startswith(TOLD)


def _at(row: JsonObject) -> float:
    return cast(float, row["t"])
