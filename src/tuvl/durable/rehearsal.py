"""A run gone through by its record alone: does a definition ask for what was recorded, and where does it differ?"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from tuvl.dataclass import dataclass
from tuvl.durable.record import DurableJournal, asked_in_all, intent_of, requested_of
from tuvl.durable.told import TOLD
from tuvl.errors import EngineError
from tuvl.journal import Effect, Suspended, Wait, Work
from tuvl.values import JsonObject, JsonValue

_SETTLING = 200
"""Turns of the event loop in which what runs beside the end of a record comes to its own end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """Where a definition first leaves the record."""

    at: str
    """Name of the entry."""
    why: str

    def to_json(self) -> JsonObject:
        """Return `{at, why}`."""
        return {"at": self.at, "why": self.why}


class _EndOfRecord(EngineError):
    """Nothing further is recorded."""


_OF_PARTS = ("HumanInTheLoop", "Workflow")
"""Kinds of steps that do nothing themselves but what their parts record, and may begin by asking somebody."""


class _NoRows:
    async def put(self, name: str, row: JsonObject) -> None:
        """Keep nothing."""


class Rehearsal(DurableJournal):
    """The record of a run, in which nothing is done: each entry is compared with what is asked for now."""

    rehearses = True

    def __init__(self, found: Mapping[str, JsonObject]) -> None:
        super().__init__(_NoRows(), found, again=True)
        self._rows = dict(found)
        self._seen: set[str] = set()
        self._differing: list[Divergence] = []
        self._ends: list[str] = []

    def within(self, name: str) -> "Rehearsal":
        """Return a part of the record."""
        part = object.__new__(Rehearsal)
        self._share(part, name)
        part._rows, part._seen, part._differing, part._ends = self._rows, self._seen, self._differing, self._ends
        return part

    async def record(
        self, name: str, work: Work, *, effect: Effect | None = None, asked: str | None = None
    ) -> JsonValue:
        """Return the recorded outcome; work whose outcome is not recorded goes through its parts, and is not done."""
        full = self._prefix + name
        row = self._rows.get(full)
        if self._is_gone_through(full, effect):
            # Gone through part by part, since the whole says nothing of what was asked within it.
            ends = len(self._ends)
            try:
                outcome = await work()
                self._seen.add(full)
                return outcome
            except (_EndOfRecord, Suspended):
                if row is None:
                    raise
                del self._ends[ends:]  # cut off within, by a deadline for one: how it ended is recorded
        if row is None:
            self._see_in_flight(full, effect)
            return await self._end(full)
        self._see(full, row, asked_in_all(asked, effect))
        return await super().record(name, work)

    async def ask(self, wait: Wait) -> JsonValue:
        """Return the recorded answer; raises `Suspended` where there is none."""
        full = self._prefix + wait.name
        row = self._rows.get(full)
        if row is None:
            await self._come_to_end(full)
            raise Suspended(replace(wait, name=full))
        self._see(full, row, None)
        return await super().ask(wait)

    def divergence(self) -> Divergence | None:
        """Return where the definition first left the record; `None` when it asked for all of it."""
        for name in self._rows:
            for differing in self._differing:
                if differing.at == name:
                    return differing
            if name not in self._seen and self._is_in_flight(name):
                return Divergence(at=name, why="this was begun, nobody knows its end, and the run does not come to it")
            if name not in self._seen and not _aside(name):
                instead = f"; asked for is {self._ends[0]!r}" if self._ends else ", and the run ends before it"
                return Divergence(at=name, why=f"the record has this entry{instead}")
        return None

    def _is_gone_through(self, full: str, effect: Effect | None) -> bool:
        """Tell whether what stands for a whole is gone through part by part."""
        if effect is not None and effect.alone:
            return False
        return (effect is not None and effect.kind in _OF_PARTS and full not in self._rows) or self._has_parts(full)

    def _has_parts(self, full: str) -> bool:
        parts = full.removesuffix("end")
        return parts.endswith("/") and any(
            name.startswith(parts) and name != full and not _aside(name) for name in self._rows
        )

    def _see(self, full: str, row: JsonObject, asked: str | None) -> None:
        self._seen.add(full)
        # What is inside a whole that is recorded is not asked for again.
        inside = full.removesuffix("end") if full.endswith("/end") else None
        if inside is not None:
            self._seen.update(name for name in self._rows if name.startswith(inside))
        recorded = row.get("asked")
        if asked is not None and recorded is not None and recorded != asked:
            self._differing.append(Divergence(at=full, why=f"{_what(full)} is another one than was recorded"))

    def _see_in_flight(self, full: str, effect: Effect | None) -> None:
        """See that work whose end is not known is still what it was begun as, whoever decides what became of it."""
        attempt = 1
        while f"{full}!{attempt + 1}" in self._rows:
            attempt += 1
        intent = f"{full}!{attempt}"
        self._seen.add(intent)
        if intent not in self._rows:
            return
        recorded = self._rows[intent]["value"]
        marked = isinstance(recorded, dict) and recorded.get("marked") is True
        now = None if effect is None else intent_of(effect, marked=marked and not effect.repeatable)
        if self._is_in_flight(intent) and now != recorded:
            why = (
                f"this was begun, and nobody knows its end; {_what(full)}, or whether and how it may be repeated, is "
                "not what it was begun with"
            )
            self._differing.append(Divergence(at=intent, why=why))
        elif self._is_to_be_repeated(intent) and requested_of(now) != requested_of(recorded):
            why = f"this is to be done again, and {_what(full)} is not what it was begun with"
            self._differing.append(Divergence(at=intent, why=why))

    def _is_to_be_repeated(self, intent: str) -> bool:
        """Tell whether somebody has said so, and it was not begun again yet."""
        said = self._rows.get(f"{intent}?", {}).get("value")
        return isinstance(said, dict) and said.get("outcome") == "retry"

    def _is_in_flight(self, name: str) -> bool:
        """Tell whether an entry is an intent of which nothing says what became of it."""
        whole, sign, attempt = name.rpartition("!")
        if not sign or not attempt.isdecimal() or f"{name}?" in self._rows or whole in self._rows:
            return False
        if f"{whole}!{int(attempt) + 1}" in self._rows:
            return False
        places = whole.split("/")[:-1]
        return not any("/".join([*places[:depth], "end"]) in self._rows for depth in range(1, len(places)))

    async def _end(self, full: str) -> JsonValue:
        await self._come_to_end(full)
        raise _EndOfRecord(f"nothing is recorded from {full!r} on", type="end_of_record")

    async def _come_to_end(self, full: str) -> None:
        self._ends.append(full)
        for _ in range(_SETTLING):
            await asyncio.sleep(0)


def _what(full: str) -> str:
    if "/turn." in full:
        return "the request to the model"
    if "/tool." in full:
        return "what the tool is given, or asks for in turn,"
    return "what the step asks for (address, method, body, idempotency key; tool and arguments; or records)"


def _aside(name: str) -> bool:
    """Tell whether an entry stands beside the work: an intent, what was decided about one, what the run was told."""
    return "!" in name or name.startswith(TOLD)
