"""What a run was told from outside, in its record: kept before it acts, and carried out where the record ends.

A run that goes on passes again by everything that is on record, and was told nothing while it did so the first time.
What it was told and has not obeyed yet, it is told when it comes to something that is new.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, cast

from tuvl.agent.steering import steers_of
from tuvl.values import JsonObject

TOLD = "told."
"""How the names of such entries begin."""

PAUSED = "paused"
"""Kind of one that tells the run nothing, and says for how long it is held up."""

_TAKEN = ("steers", "steered")
"""Entries that say which steers an agent has read, between turns or in a call."""


Tell = Callable[[], Coroutine[Any, Any, None]]
Hold = Callable[[], Awaitable[bool]]


class EndOfRecord:
    """Knows which entries are new, and has the run told what it was told before it does the first of them."""

    def __init__(self, found: Mapping[str, JsonObject]) -> None:
        self._found = found
        self._then: tuple[Tell, Hold] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._begun: frozenset[str] = frozenset()

    def then(self, tell: Tell, hold: Hold) -> None:
        """Have the run told at the first entry that is new, once.

        Whatever comes to a new entry meanwhile is held up by `hold`, which returns whether the run is to stop.
        """
        self._then = tell, hold
        self._begun = frozenset(_begun(self._found))

    async def passed(self, full: str) -> bool:
        """Hear that an entry without an outcome is next; returns whether the run was told to stop just now."""
        if self._then is None or full.removesuffix("end") in self._begun:
            return False
        tell, hold = self._then
        if self._telling is None:
            # Not in a task of the run: what an abort cancels is everything that is in flight.
            self._telling = asyncio.create_task(tell(), name="tuvl-told")
        await asyncio.shield(self._telling)
        stops = await hold()
        self._then = None
        return stops


def _begun(found: Mapping[str, JsonObject]) -> set[str]:
    """Return the parts in which something is on record; an intent says nothing yet."""
    parts: set[str] = set()
    for name in found:
        if "!" not in name and not name.startswith(TOLD):
            places = name.split("/")[:-1]
            parts.update("/".join(places[: depth + 1]) + "/" for depth in range(len(places)))
    return parts


def pending(found: Mapping[str, JsonObject]) -> tuple[JsonObject, ...]:
    """Return what a run was told and has not obeyed, in order: an abort alone, else steers, and a pause at the end."""
    rows = sorted(
        (row for name, row in found.items() if name.startswith(TOLD)), key=lambda row: float(cast(float, row["t"]))
    )
    told = [cast(JsonObject, row["value"]) for row in rows]
    aborts = [said for said in told if said["kind"] == "abort"]
    if aborts:
        return (aborts[0],)
    read = Counter(_read(found))
    waiting: list[JsonObject] = []
    for said in told:
        if said["kind"] == "steer":
            if not read[str(said["words"])]:
                waiting.append(said)
            else:
                read[str(said["words"])] -= 1
    pauses = [said for said in told if said["kind"] in ("pause", "resume")]
    if pauses and pauses[-1]["kind"] == "pause":
        waiting.append(pauses[-1])
    return tuple(waiting)


def _read(found: Mapping[str, JsonObject]) -> list[str]:
    texts: list[str] = []
    for name, row in found.items():
        if name.rpartition("/")[2].partition("#")[0] in _TAKEN:
            texts.extend(steers_of(row["value"]))
    return texts
