"""Keeps the events of the runs that a process performs, so that whoever watches from another process gets them.

Events of all runs are gathered and written by one statement. The database may be slow, or away: events wait up to a
number, and are dropped and counted beyond it; no run ever waits for them.
"""

import asyncio
import contextlib
import contextvars
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import field, replace
from typing import cast

from tuvl.data.event_store import EventPiece
from tuvl.data.fault_types import BUSY, UNREACHABLE
from tuvl.data.run_records import StoreAccess
from tuvl.dataclass import dataclass
from tuvl.errors import StepError, TuvlError
from tuvl.events.serialize import from_wire, to_wire
from tuvl.events.types import Event, RunFinished
from tuvl.hosting.following import Follower
from tuvl.values import JsonObject

GATHER_S = 0.4
"""How long events wait for others, in seconds."""

_LOOKS = 10
"""How often it is looked meanwhile for somebody who has come to watch a run."""

LAST_S = 0.1
"""The same for the last ones of a run."""

WATCHED_S = 0.02
"""The same for those of a run that somebody watches: they are told when they are kept."""

AGAIN_S = 1.0
"""Seconds before a database is asked again that could not keep events."""

ANSWER_S = 10.0
"""Seconds after which a statement is given up."""

CLOSE_S = 2.0
"""How long a process that ends waits for the last events to be kept, in seconds."""

MOST_WAITING = 20_000
"""Events of all runs that wait to be written; those that come beyond it are dropped."""

MOST_KEPT = 2000
"""Events of one run that are kept, about: the oldest ones are forgotten."""

_SPARE = 500
"""Events beyond `MOST_KEPT` after which the oldest are forgotten, so that it is not done each time."""

_AWAY = frozenset({BUSY, UNREACHABLE})

_log = logging.getLogger("tuvl.hosting")


@dataclass(slots=True, kw_only=True)
class KeptRun:
    """What of one run waits to be kept."""

    run_id: str
    follower: Follower | None = None
    waiting: list[Event] = field(default_factory=list)
    dropped: int = 0
    """Events that came when too many waited."""
    pieces: deque[tuple[int, int]] = field(default_factory=deque)
    """What is kept, the oldest first: the number of the last event of each piece, and how many there are in it."""

    @classmethod
    def behind(cls, run_id: str, before: Sequence[JsonObject], follower: Follower | None) -> "KeptRun":
        """Go on behind what is kept already."""
        run = cls(run_id=run_id, follower=follower)
        for first in range(0, len(before), _SPARE):
            some = before[first : first + _SPARE]
            run.pieces.append((int(cast(int, some[-1]["seq"])), len(some)))
        return run

    @property
    def watched(self) -> bool:
        """Whether somebody waits for its events, who may have come after they happened."""
        return self.follower is not None and self.follower.watched

    def told(self, up_to: int) -> None:
        """Let events up to a number be told to those who follow."""
        if self.follower is not None:
            self.follower.kept(up_to)

    def long(self, events: Sequence[Event]) -> int | None:
        """Hear that events are kept; returns the number up to which they are to be forgotten, when it is time."""
        self.pieces.append((events[-1].seq, len(events)))
        count = sum(many for _, many in self.pieces)
        if count < MOST_KEPT + _SPARE:
            return None
        up_to = None
        while count - self.pieces[0][1] >= MOST_KEPT:
            up_to, many = self.pieces.popleft()
            count -= many
        return up_to


class EventKeeper:
    """Gathers events and writes them. It belongs to one event loop."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access
        self._runs: dict[str, KeptRun] = {}
        self._count = 0
        self._task: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self._pause_s = LAST_S
        self._writing = asyncio.Lock()
        self._complained = False

    @classmethod
    @asynccontextmanager
    async def open(cls, access: StoreAccess) -> AsyncIterator["EventKeeper"]:
        """Keep events while the block runs, and write what is left at its end."""
        keeper = cls(access)
        try:
            yield keeper
        finally:
            await keeper._close()

    def add(self, run: KeptRun, event: Event) -> None:
        """Take an event, to be written soon; returns at once."""
        if self._count >= MOST_WAITING and not isinstance(event.body, RunFinished):
            run.dropped += 1
            return
        self._count += 1
        if not run.waiting:
            self._runs[run.run_id] = run
        run.waiting.append(event)
        if run.watched:
            self._pause_s = WATCHED_S
            self._hurry.set()
        if self._task is None or self._task.done():
            # In no run's context: it writes for all of them.
            self._task = asyncio.create_task(self._work(), name="tuvl-events", context=contextvars.Context())

    def hurry(self) -> None:
        """Write soon: a run has ended, or leaves."""
        self._hurry.set()

    async def kept(self, run_id: str) -> Sequence[JsonObject]:
        """Return the events of a run that are kept, those that still wait here among them; none when that fails."""
        try:
            async with asyncio.timeout(ANSWER_S):
                if run_id in self._runs:
                    await self._write()
                return (await self._access.store.events.after({run_id: 0})).get(run_id, ())
        except (TuvlError, TimeoutError) as error:
            _log.warning("the events of run %r cannot be read: %s", run_id, type(error).__name__)
            return ()

    async def _work(self) -> None:
        while self._runs:
            await self._gathered()
            try:
                async with asyncio.timeout(ANSWER_S):
                    await self._write()
            except (TuvlError, TimeoutError) as error:
                if not self._complained:
                    _log.warning("events of runs cannot be kept just now: %s", type(error).__name__)
                self._complained = True
                for run in self._runs.values():  # no reader waits for a database that is away
                    run.told(run.waiting[-1].seq)
                await asyncio.sleep(AGAIN_S)
            else:
                self._complained = False

    async def _gathered(self) -> None:
        for _ in range(_LOOKS):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GATHER_S / _LOOKS):
                    await self._hurry.wait()
            if self._hurry.is_set() or any(run.watched for run in self._runs.values()):
                await asyncio.sleep(self._pause_s)
                break
        self._hurry.clear()
        self._pause_s = LAST_S

    async def _write(self) -> None:
        """Write what waits; raises what the store raises, and then it still waits."""
        async with self._writing:
            taken = {run_id: list(run.waiting) for run_id, run in self._runs.items()}
            if not taken:
                return
            pieces = [_piece(run_id, events) for run_id, events in taken.items()]
            kept = await self._keep(pieces)
            old: dict[str, int] = {}
            for run_id, events in taken.items():
                run = self._runs[run_id]
                run.told(events[-1].seq)
                up_to = run.long(events)
                if up_to is not None:
                    old[run_id] = up_to
                del run.waiting[: len(events)]
                self._count -= len(events)
                if not run.waiting:
                    del self._runs[run_id]
            others = {run_id: events for run_id, events in taken.items() if run_id not in kept}
            if others:
                await self._keep_behind(others)
            for run_id, up_to in old.items():
                await self._access.store.events.forget(run_id, up_to=up_to)

    async def _keep(self, pieces: Sequence[EventPiece]) -> set[str]:
        try:
            return await self._access.store.events.keep(pieces)
        except StepError as error:
            if error.type in _AWAY:
                raise
        kept: set[str] = set()
        for piece in pieces:  # one run that was deleted meanwhile must not take the others along
            try:
                kept |= await self._access.store.events.keep([piece])
            except StepError as error:
                if error.type in _AWAY:
                    raise
                kept.add(piece.run_id)
                _log.info("events of run %r are not kept: %s", piece.run_id, error.type)
        return kept

    async def _keep_behind(self, taken: dict[str, list[Event]]) -> None:
        """Keep what is news to the store: another process has told the same, or this one without learning of it."""
        there = await self._access.store.events.after(dict.fromkeys(taken, 0))
        pieces = []
        for run_id, events in taken.items():
            news = _behind(events, there.get(run_id, []))
            if news:
                pieces.append(_piece(run_id, news))
        if pieces:
            await self._access.store.events.keep(pieces)

    async def _close(self) -> None:
        with contextlib.suppress(TuvlError, TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._write()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def forgotten_before(kept: Sequence[JsonObject]) -> int:
    """Return how many events of a run may have been forgotten before those that are kept."""
    # So many are kept of each run of which any were forgotten.
    return int(cast(int, kept[0]["seq"])) - 1 if len(kept) >= MOST_KEPT else 0


def _piece(run_id: str, events: Sequence[Event]) -> EventPiece:
    text = json.dumps([to_wire(event) for event in events], separators=(",", ":"))
    return EventPiece(run_id=run_id, first_seq=events[0].seq, last_seq=events[-1].seq, events=text)


def _behind(events: Sequence[Event], there: Sequence[JsonObject]) -> list[Event]:
    last = None if not there else from_wire(there[-1])
    if last is None:
        return []
    news = [event for event in events if event.seq > last.seq]
    end = events[-1]
    if not news and isinstance(end.body, RunFinished) and not isinstance(last.body, RunFinished):
        # Whatever else was told of the run by whoever had it before: that it has ended is to be told.
        return [replace(end, seq=last.seq + 1)]
    return news
