"""Durable runs that go on in other processes, followed here by the events that those keep in the store of runs."""

from collections.abc import Sequence
from dataclasses import field

from tuvl.data.run_records import StoreAccess
from tuvl.dataclass import dataclass
from tuvl.errors import TuvlError
from tuvl.events.serialize import from_wire
from tuvl.events.types import Event, RunFinished
from tuvl.hosting.hearing import gone_on
from tuvl.hosting.host import Host
from tuvl.server.event_log import EventLog
from tuvl.values import JsonObject

LOOK_S = 0.5
"""Pause between two looks, in seconds."""

PATIENCE = 20
"""Looks after which a run that has ended gets an end here, though no process has kept its last event."""


@dataclass(slots=True)
class _Place:
    """How far a run is followed."""

    waits: Event | None = None
    """The last event that was kept, when it says that the run waits for somebody: it may have gone on since."""
    looks: int = 0
    """How often it was found to have ended, without its last event."""


@dataclass(slots=True)
class Elsewhere:
    """Looks for what is new of all runs at once."""

    host: Host
    access: StoreAccess
    _places: dict[str, _Place] = field(default_factory=dict)

    async def look(self, logs: Sequence[EventLog]) -> None:
        """Put into logs what is kept of their runs and not in them yet; raises `TuvlError` when that cannot be read."""
        self._places = {log.run_id: self._places.get(log.run_id) or _Place() for log in logs}
        if not logs:
            return
        # Asked first: what a run that is settled by now has to tell is kept, or is about to be.
        settled = await self.host.settled([log.run_id for log in logs])
        found = await self.access.store.events.after({log.run_id: self._last(log) for log in logs})
        for log in logs:
            self._take(log, found.get(log.run_id, []))
            if log.run_id in settled and not log.ended:
                await self._end(log)

    def _last(self, log: EventLog) -> int:
        waits = self._places[log.run_id].waits
        return max(log.last_seq, 0 if waits is None else waits.seq)

    def _take(self, log: EventLog, wires: Sequence[JsonObject]) -> None:
        place = self._places[log.run_id]
        for wire in wires:
            event = from_wire(wire)
            if event is None or event.seq <= log.last_seq:
                continue
            if place.waits is not None:
                log.accept(gone_on(place.waits))
                place.waits = None
            place.looks = 0
            if isinstance(event.body, RunFinished) and event.body.status == "suspended":
                place.waits = event
            else:
                log.accept(event)

    async def _end(self, log: EventLog) -> None:
        """Give a run that has ended, or waits for somebody, its last event here."""
        place = self._places[log.run_id]
        place.looks += 1
        if place.waits is None and place.looks < PATIENCE:
            return
        try:
            document = await self.host.result(log.run_id)
        except TuvlError:
            return  # the next look tells
        if document is None:
            return
        status = str(document["status"])
        if status == "suspended" and place.waits is not None:
            log.accept(place.waits)
            place.waits = None
        elif place.looks >= PATIENCE:
            log.end(status)
