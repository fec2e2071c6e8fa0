"""The runs that go on, of this process and of others on the same store, and what they are told.

What a run is told is kept in the store of runs, and read there by the process that has the run: twice a second, and at
once when it comes from the same process. A run that ends before anybody looked costs nothing.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Protocol
from uuid import uuid4

from tuvl.clock import Clock, SystemClock
from tuvl.control import Intervention, RunControl
from tuvl.data.control_rows import DirectiveRow, LiveRow, Settled
from tuvl.data.run_records import StoreAccess
from tuvl.data.run_rows import InterventionRow
from tuvl.dataclass import dataclass
from tuvl.errors import TuvlError
from tuvl.principal import Principal
from tuvl.redaction import redact
from tuvl.sealing import VARIABLE, Unopened
from tuvl.supervision.runs import Directive, RunInfo

POLL_S = 0.5
"""Seconds between two looks at what the runs of this process are told."""

BEAT_S = 2.0
"""Seconds between two signs of life of this process."""

LONGEST_PAUSE_S = 5.0
"""Longest wait after a store that could not be reached; it grows to this from `POLL_S`."""

LAST_LOOK_S = 5.0
"""How long a look that is under way may take when the registry is closed, in seconds."""

_log = logging.getLogger("tuvl.supervision")


class Mirror(Protocol):
    """Shows the runs of this process to others that do not share its store, and brings what they say. Never raises."""

    async def show(self, owner: str, runs: Sequence[RunInfo], ended: Sequence[str]) -> None:
        """Show what goes on here, and take away what has ended."""
        ...

    async def brought(self, run_ids: Sequence[str]) -> Sequence[DirectiveRow]:
        """Return what was said to runs and is not taken yet, in order."""
        ...

    async def took(self, rows: Sequence[DirectiveRow]) -> None:
        """Take away what is in the store of runs now."""
        ...

    async def settled(self, id: str, found: Settled) -> None:
        """Show what became of a directive."""
        ...

    async def wait(self) -> None:
        """Wait until somebody says something to a run of this process."""
        ...

    async def live(self) -> Sequence[RunInfo]:
        """Return the runs that go on anywhere; none while the mirror cannot be reached."""
        ...

    async def tell(self, row: DirectiveRow, owner: str) -> bool:
        """Say something to a run that a process with another store has; `False` when that is not possible."""
        ...

    async def wake(self, owner: str) -> None:
        """Let a process look at once at what its store has for it."""
        ...

    async def outcome(self, id: str) -> Settled | None:
        """Return what became of a directive, when that is known."""
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...


@dataclass(slots=True)
class _Local:
    """A run of this process."""

    info: RunInfo
    control: RunControl
    announced: bool = False
    shown_paused: bool = False
    """Whether others see it as paused."""
    kept: set[str] = field(default_factory=set)
    """Ids of what it was told in this process and is on its own record."""


class RunRegistry:
    """The runs that go on. One for each process and store; the engine that it is given to closes it."""

    def __init__(
        self,
        access: StoreAccess,
        *,
        clock: Clock | None = None,
        mirror: Mirror | None = None,
        every_run: bool = False,
    ) -> None:
        self.access = access
        self.every_run = every_run
        """Whether runs are on the list that are not on record for reasons of their own."""
        self._clock = clock or SystemClock()
        self._mirror = mirror
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self._local: dict[str, _Local] = {}
        self._ended: set[str] = set()
        """Runs that are over and still stand in the store."""
        self._beat_at = -BEAT_S
        self._turn = asyncio.Lock()
        self._closing = asyncio.Event()
        self._watcher: asyncio.Task[None] | None = None

    # ---- the process that has the runs ---------------------------------------------------------------------------

    @contextmanager
    def register(self, run_id: str, control: RunControl, info: RunInfo) -> Iterator[None]:
        """Let a run be seen and controlled while the block runs; needs a running event loop."""
        self._local[run_id] = _Local(replace(info, owner=self.owner), control)
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.create_task(self._watch(), name="tuvl-registry")
        try:
            yield
        finally:
            if self._local.pop(run_id).announced:
                self._ended.add(run_id)

    async def aclose(self) -> None:
        """Take this process's runs off the list, stop looking, and let go of the store."""
        self._closing.set()
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            # Not cancelled at once: a transaction that is cut off leaves a connection behind.
            await asyncio.wait((watcher,), timeout=LAST_LOOK_S)
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)
        self._ended |= {run_id for run_id, run in self._local.items() if run.announced}
        if self._ended:
            try:
                await self._beat()
            except TuvlError as error:
                _log.warning("runs that have ended stay on the list of live runs: %s", redact(str(error)))
        if self._mirror is not None:
            await self._mirror.aclose()
        await self.access.aclose()
        self._closing.clear()

    async def _watch(self) -> None:
        pause = POLL_S
        while (self._local or self._ended) and not self._closing.is_set():
            await self._wait(pause)
            try:
                await self.look()
                pause = POLL_S
            except TuvlError as error:
                if pause == POLL_S:
                    _log.warning("runs cannot be controlled from outside just now: %s", redact(str(error)))
                pause = min(2 * pause, LONGEST_PAUSE_S)

    async def _wait(self, seconds: float) -> None:
        waits = [asyncio.ensure_future(self._closing.wait()), asyncio.ensure_future(asyncio.sleep(seconds))]
        if self._mirror is not None:
            waits.append(asyncio.ensure_future(self._mirror.wait()))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def hear(self, run_id: str) -> None:
        """Carry out at once what a run of this process was told; a store that cannot be read now is read later."""
        if run_id not in self._local:
            return
        try:
            await self.look()
        except TuvlError as error:
            _log.warning("what run %r was told cannot be read just now: %s", run_id, redact(str(error)))

    async def look(self) -> None:
        """Say that this process is alive, when that is due, and carry out what its runs were told."""
        async with self._turn:
            changed = any(not run.announced or run.shown_paused != run.control.paused for run in self._local.values())
            if changed or self._ended or self._clock.monotonic() - self._beat_at >= BEAT_S:
                await self._beat()
            if self._mirror is not None:
                brought = await self._mirror.brought(list(self._local))
                for row in brought:
                    await self.access.store.control.direct(row)
                if brought:
                    await self._mirror.took(brought)
            if any(run.announced for run in self._local.values()):
                for number, row in await self.access.store.control.unread(self.owner):
                    await self._carry_out(number, row)

    async def _beat(self) -> None:
        begun = [run for run in self._local.values() if not run.announced]
        ended = list(self._ended)
        for run in self._local.values():
            run.shown_paused = run.control.paused
        await self.access.store.control.beat(
            self.owner,
            begun=[run.info.row(self.owner, paused=run.shown_paused) for run in begun],
            ended=ended,
            paused=[run_id for run_id, run in self._local.items() if run.shown_paused],
        )
        for run in begun:
            run.announced = True
            if run.info.run_id not in self._local:  # it ended meanwhile
                self._ended.add(run.info.run_id)
        self._ended.difference_update(ended)
        self._beat_at = self._clock.monotonic()
        if self._mirror is not None:
            await self._mirror.show(self.owner, self._own(), ended)

    async def _carry_out(self, number: int, kept: DirectiveRow) -> None:
        run = self._local.get(kept.run_id)
        if run is None:
            return  # it has just ended; what it was told is void with the next beat
        row = self._opened(kept)
        if row is None:
            await self._refuse(number, kept, f"it was encrypted with a key that the run's process lacks ({VARIABLE})")
            return
        said = Intervention(action=row.kind, source="operator", by=row.by)
        # In the record of a durable run first: a process that dies after this has told the run.
        if run.control.keep is not None and await run.control.keep(row.id, said, _words(row)):
            run.kept.add(row.id)
        now, note = self._clock.now(), _note(row, run.control)
        settled = await self.access.store.control.settle(
            number,
            "applied",
            note=note,
            at=now,
            audit=InterventionRow.of(said, row.message, at=now, id=row.id),
            run_id=row.run_id,
        )
        if not settled:
            return
        if run.control.keep is None or row.id in run.kept:  # else the run knows it from its record
            run.control.intervene(said, _words(row))
        if self._mirror is not None:
            await self._mirror.settled(row.id, Settled(outcome="applied", note=note))

    def _opened(self, kept: DirectiveRow) -> DirectiveRow | None:
        """Return what a run is told; `None` for a steer that cannot be opened: the others do without words."""
        try:
            message = self.access.keys.of(kept.run_id).opened_text(_told(kept.id), kept.message)
        except Unopened:
            return None if kept.kind == "steer" else replace(kept, message="")
        return replace(kept, message=message)

    async def _refuse(self, number: int, row: DirectiveRow, note: str) -> None:
        now = self._clock.now()
        await self.access.store.control.settle(number, "void", note=note, at=now, audit=None, run_id=row.run_id)
        if self._mirror is not None:
            await self._mirror.settled(row.id, Settled(outcome="void", note=note))

    # ---- anybody -------------------------------------------------------------------------------------------------

    async def live(self, reader: Principal | None = None) -> list[RunInfo]:
        """Return the runs that go on and that the reader may see, the newest first.

        Those of a process that died are among them until its runs are taken over; they are not `alive`.
        """
        who = reader or Principal()
        found = {info.run_id: info for info in await self._mirrored(who)}
        found |= {row.run_id: RunInfo.of(row) for row in await self._stored(who)}
        found |= {info.run_id: info for info in self._own() if who.may_see(info.tenant)}
        return sorted(found.values(), key=lambda info: info.started_at, reverse=True)

    async def get(self, run_id: str, reader: Principal | None = None) -> RunInfo | None:
        """Return one run that goes on; `None` when there is none of that id that the reader may see."""
        who = reader or Principal()
        for info in self._own():
            if info.run_id == run_id:
                return info if who.may_see(info.tenant) else None
        stored = await self._stored(who, run_id)
        if stored:
            return RunInfo.of(stored[0])
        return next((info for info in await self._mirrored(who) if info.run_id == run_id), None)

    async def direct(self, run_id: str, directive: Directive, reader: Principal | None = None) -> bool:
        """Tell a run something; `False` when nobody has such a run that the reader may see.

        `True` says that it is kept, and will be carried out once, in order; of a run of this process it has been.
        """
        info = await self.get(run_id, reader)
        if info is None or not info.alive:
            return False
        row = DirectiveRow(
            id=directive.id,
            run_id=run_id,
            kind=directive.kind,
            message=self.access.keys.of(run_id).sealed_text(_told(directive.id), redact(directive.message)),
            by=directive.by,
            at=self._clock.now(),
        )
        if run_id in self._local:
            await self.access.store.control.direct(row)
            await self.look()
            return True
        if await self._stored(Principal(), run_id):
            await self.access.store.control.direct(row)
            if self._mirror is not None:
                await self._mirror.wake(info.owner)
            return True
        return self._mirror is not None and await self._mirror.tell(row, info.owner)

    async def settled(self, directive_id: str) -> Settled | None:
        """Return what became of a directive; `None` when there is none of that id."""
        found = await self.access.store.control.settled(directive_id) if self.access.is_there else None
        if (found is None or found.outcome is None) and self._mirror is not None:
            return await self._mirror.outcome(directive_id) or found
        return found

    async def wait_settled(self, directive_id: str, timeout_s: float) -> Settled | None:
        """Wait until a directive is carried out or void; after `timeout_s` seconds return how it stands."""
        until = self._clock.monotonic() + timeout_s
        while True:
            found = await self.settled(directive_id)
            if (found is not None and found.outcome is not None) or self._clock.monotonic() >= until:
                return found
            await self._clock.sleep(POLL_S / 5)

    def _own(self) -> list[RunInfo]:
        return [replace(run.info, paused=run.control.paused) for run in self._local.values()]

    async def _stored(self, reader: Principal, run_id: str | None = None) -> list[LiveRow]:
        if not self.access.is_there:
            return []
        return await self.access.store.control.live(reader, run_id=run_id)

    async def _mirrored(self, reader: Principal) -> list[RunInfo]:
        if self._mirror is None:
            return []
        return [info for info in await self._mirror.live() if reader.may_see(info.tenant)]


def _told(directive_id: str) -> str:
    """Return the name under which the words of a directive are encrypted."""
    return f"/told/{directive_id}"


def _note(row: DirectiveRow, control: RunControl) -> str | None:
    """Say why a directive changes nothing, when it does not."""
    if control.aborted:
        return "the run was being aborted already"
    match row.kind:
        case "pause":
            return "the run was paused already" if control.paused else None
        case "resume":
            return None if control.paused else "the run was not paused"
        case _:
            return None


def _words(row: DirectiveRow) -> str:
    """What the agent is told, or why the run ends."""
    if row.kind != "abort":
        return row.message
    return f"aborted by {row.by}: {row.message}" if row.message else f"aborted by {row.by}"
