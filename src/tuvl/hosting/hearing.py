"""Who hears of a durable run, over all processes that have it: one stream of events, whose numbers go on.

A run that goes on in another process, or after an answer, goes through its record again, and its events are made again.
Those that were told are not told a second time; what is told of one run has one end.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from tuvl.events.serialize import from_wire, same, to_wire
from tuvl.events.sink import InlineSink
from tuvl.events.types import (
    Event,
    Heartbeat,
    RunFinished,
    RunResumed,
    RunStarted,
    RunSuspended,
    StreamReset,
    TextDelta,
    ToolCallDelta,
)
from tuvl.hosting.event_keeping import EventKeeper, KeptRun, forgotten_before
from tuvl.hosting.following import Follower
from tuvl.hosting.pieces import Pieces
from tuvl.values import JsonObject

NUMBERS = 100_000
"""Numbers that each performance of a run has for its events, so that none is ever given twice.

Whoever has the run next cannot know how far the one before had come: words of models are told and not kept, and a
process that dies keeps nothing of its last moment.
"""

_LAST = 2_000_000_000
"""Where that ends, since numbers have 32 bits in the store: a run that was taken some twenty thousand times."""

_ALWAYS_NEWS = (Heartbeat, StreamReset)
"""Events that the record does not make again."""

Status: TypeAlias = Literal["completed", "failed", "aborted", "suspended"]


class Heard(InlineSink):
    """The events of one run while this process has it."""

    def __init__(
        self,
        run_id: str,
        keeper: EventKeeper,
        follower: Follower | None,
        before: Sequence[JsonObject],
        *,
        attempt: int = 1,
    ) -> None:
        """`before` is what is kept of what was told of the run so far, in whatever process, and begins with its start.

        `attempt` says how often it was taken up, this time included.
        """
        self._keeper = keeper
        self._follower = follower
        self._kept = KeptRun.behind(run_id, before, follower)
        self._held: Event | None = None
        self._seq = 0
        self._told: Counter[object] | None = None
        self._pieces = Pieces(())
        self._lacking = 0
        """Events that may have been told before all that is known to have been."""
        if before:
            self._go_on(before)
        self._seq = max(self._seq, min((attempt - 1) * NUMBERS, _LAST))

    def _go_on(self, before: Sequence[JsonObject]) -> None:
        events = [event for event in map(from_wire, before) if event is not None]
        self._told = Counter(same(to_wire(event)) for event in events if not isinstance(event.body, _ALWAYS_NEWS))
        self._pieces = Pieces(events)
        self._lacking = forgotten_before(before)
        self._seq = max((event.seq for event in events), default=0)
        if self._follower is not None:
            for event in events:
                self._follower.before(gone_on(event))

    def accept(self, event: Event) -> None:
        """Take an event of the run, as it is performed here."""
        if isinstance(event.body, RunFinished):
            self._held = event  # whether it has ended, or goes on elsewhere, is known later
            return
        if isinstance(event.body, RunSuspended):
            return  # `end` tells that it waits; once it has gone on, that is told as this event
        if self._told is None:
            self._tell_next(event)
            return
        self._pieces.follow(event)
        if isinstance(event.body, TextDelta | ToolCallDelta):
            self._take_piece(event, event.body)
        elif isinstance(event.body, RunStarted):
            body = RunResumed(workflow=event.body.workflow, schema_version=event.body.schema_version)
            self._tell_next(replace(event, body=body))
        elif isinstance(event.body, StreamReset) and not self._pieces.is_void(event.step_id, event.body):
            return
        elif not self._is_known(event, self._told):
            self._tell_next(event)

    def _take_piece(self, event: Event, piece: TextDelta | ToolCallDelta) -> None:
        telling = self._pieces.telling(event.step_id, piece, forgotten=self._lacking > 0)
        if telling == "told already":
            return
        if telling == "told anew":
            self._tell_next(replace(event, body=StreamReset(iteration=piece.iteration)))
        self._tell_next(event)

    def _is_known(self, event: Event, told: Counter[object]) -> bool:
        if isinstance(event.body, _ALWAYS_NEWS):
            return False
        key = same(to_wire(event))
        if told[key] > 0:
            told[key] -= 1
            self._lacking = 0
            return True
        if self._lacking > 0:  # the oldest ones are forgotten, and this is one of them
            self._lacking -= 1
            return True
        return False

    def _tell_next(self, event: Event) -> None:
        self._seq += 1
        self._tell(replace(event, seq=self._seq))

    def _tell(self, event: Event) -> None:
        if self._follower is not None:
            self._follower.accept(event)
        if not isinstance(event.body, TextDelta):
            self._keeper.add(self._kept, event)

    def end(self, status: Status) -> None:
        """Tell how the run has ended, or that it waits for somebody; also of one that could not begin."""
        self._seq += 1
        held, dropped = self._held, self._kept.dropped
        if held is not None and isinstance(held.body, RunFinished):
            body = replace(held.body, status=status, dropped=dropped)
            self._tell(replace(held, seq=self._seq, body=body))
            return
        body = RunFinished(status=status, signal=None, duration_ms=0.0, dropped=dropped)
        self._tell(Event(run_id=self._kept.run_id, seq=self._seq, at=datetime.now(UTC), step_id=None, body=body))

    def leave(self) -> None:
        """See that what was told is kept soon: the run goes on elsewhere, or has ended."""
        self._keeper.hurry()


def gone_on(event: Event) -> Event:
    """Return an event as it is told when the run has gone on since: that it waited was not its end."""
    return replace(event, body=RunSuspended()) if isinstance(event.body, RunFinished) else event


class Hearing:
    """Makes the streams of the runs of one process."""

    def __init__(self, keeper: EventKeeper, follower_for: Callable[[str], Follower] | None) -> None:
        self._keeper = keeper
        self._follower_for = follower_for

    async def begin(self, run_id: str, *, attempt: int) -> Heard:
        """Return the stream of a run that was taken up here, and how often it was so far."""
        before = await self._keeper.kept(run_id) if attempt > 1 else ()
        follower = None if self._follower_for is None else self._follower_for(run_id)
        return Heard(run_id, self._keeper, follower, before, attempt=attempt)
