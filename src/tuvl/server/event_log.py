"""The last events of one run, each written once for all who watch; each reader has a place of its own.

The log holds so many events and forgets the oldest. A reader that is slower misses what was forgotten, which is counted
and told with the terminal event; it never holds up the run or other readers.
"""

import asyncio
import secrets
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence

from tuvl.clock import Clock
from tuvl.events.serialize import to_wire
from tuvl.events.sink import InlineSink
from tuvl.events.types import Event, RunFinished
from tuvl.server.following import Following
from tuvl.server.sent_events import Reader, SentEvent
from tuvl.values import JsonObject, dump_json

KEPT = 512
"""Events that a reader may be behind before it misses some."""

WATCHED_FOR_S = 60.0
"""Seconds for which a reader is taken to be there after it last waited; it waits anew for each event."""

CONTENT = frozenset({"text_delta"})
"""Events with words of a model in them."""

TERMINAL = RunFinished.type

_DIGITS = 12


def seq_of(event: SentEvent) -> int:
    """Return the number of an event in its run."""
    seq = event.wire["seq"]
    return seq if isinstance(seq, int) else 0


class EventLog(InlineSink):
    """The log of one run in this process."""

    def __init__(self, run_id: str, *, clock: Clock, size: int = KEPT, everywhere: bool = False) -> None:
        """With `everywhere` the numbers of events mean the same in all processes: those of durable runs go on."""
        self.run_id = run_id
        self._clock = clock
        self._entries: deque[SentEvent] = deque(maxlen=size)
        self._epoch = None if everywhere else secrets.token_hex(3)
        """Tells this log from one of the same run in another process, whose numbers mean something else."""
        self._count = 0
        self._open = 0
        """Events that may be read, of those."""
        self._held: deque[tuple[int, int]] = deque()
        """Events that are not to be read yet: the number of each in the run, and in the log."""
        self._spans: list[tuple[int, int]] = []
        """Events whose numbers in the run follow each other: the first of each, and its number in the log."""
        self._read_at = float("-inf")
        self._changed = asyncio.Event()
        self.last_seq = 0
        self.ended = False
        self.following = Following()
        """Where the run stands, by all of its events."""
        self.asked_at = clock.monotonic()
        """When somebody last wanted to know of them."""

    def accept(self, event: Event, *, held: bool = False) -> None:
        """Take an event; one that was taken before is none, and one that is held is read once it is released."""
        if event.seq <= self.last_seq:
            return
        if event.seq > self.last_seq + 1 or not self._spans:
            self._spans.append((event.seq, self._count + 1))
        self.last_seq = event.seq
        self.following.accept(event)
        if held and not self.ended:
            self._held.append((event.seq, self._count + 1))
        self._add(to_wire(event))

    def release(self, seq: int) -> None:
        """Let events of the run be read up to a number, and what is behind them up to the next one that is held."""
        while self._held and self._held[0][0] <= seq:
            self._held.popleft()
        self._show()

    @property
    def watched(self) -> bool:
        """Whether a reader waits for events, or did a moment ago."""
        return self._clock.monotonic() - self._read_at < WATCHED_FOR_S

    def end(self, status: str) -> None:
        """See that there is a terminal event: a run that could not begin has made none itself."""
        if not self.ended:
            self._held.clear()
            self._add(
                {
                    "type": TERMINAL,
                    "run_id": self.run_id,
                    "seq": self.last_seq + 1,
                    "at": self._clock.now().isoformat(),
                    "step_id": None,
                    "status": status,
                    "signal": None,
                    "duration_ms": 0.0,
                    "dropped": 0,
                }
            )

    def reader(self, *, last_id: str | None = None, content: bool = True) -> "LogReader":
        """Return a reader that begins behind the event with that id, else with the oldest one that is kept.

        Without `content` it gets no event that holds words of a model.
        """
        self.asked_at = self._clock.monotonic()
        if self._epoch is not None:
            return LogReader(self, self._number_of(last_id), content=content)
        seen = int(last_id) if last_id and last_id.isdecimal() and len(last_id) < _DIGITS else 0
        return LogReader(self, self._count_up_to(seen), content=content, seen=seen)

    def _add(self, wire: JsonObject) -> None:
        if self.ended:
            return
        self._count += 1
        type = str(wire["type"])
        self.ended = type == TERMINAL
        self._entries.append(self.written(self._count, wire))
        self._show()

    def _show(self) -> None:
        shown = self._held[0][1] - 1 if self._held else self._count
        if shown > self._open:
            self._open = shown
            self.wake()

    def written(self, number: int, wire: JsonObject) -> SentEvent:
        """Return an event as it goes out."""
        type = str(wire["type"])
        id = str(wire["seq"]) if self._epoch is None else f"{self._epoch}-{number}"
        return SentEvent(id, type, wire, f"id: {id}\nevent: {type}\ndata: {dump_json(wire)}\n\n")

    def _number_of(self, id: str | None) -> int:
        epoch, _, number = (id or "").partition("-")
        return int(number) if epoch == self._epoch and number.isdecimal() and len(number) < _DIGITS else 0

    def _count_up_to(self, seq: int) -> int:
        """Return how many events there were up to a number, those that are forgotten among them."""
        at = bisect_right(self._spans, seq, key=lambda span: span[0])
        if not at:
            return 0
        first, number = self._spans[at - 1]
        until = self._spans[at][1] - 1 if at < len(self._spans) else self._count
        return min(number + seq - first, until)

    def after(self, number: int) -> Sequence[tuple[int, SentEvent]]:
        """Return what is kept of the events behind that one and may be read, with their numbers."""
        forgotten = self._count - len(self._entries)
        return [(at + 1, self._entries[at - forgotten]) for at in range(max(number, forgotten), self._open)]

    def over(self, number: int) -> bool:
        """Tell whether the log has ended, and whoever has come to that event has had all of it."""
        return self.ended and number >= self._count

    def wake(self) -> None:
        """Let every reader that waits look up: the server closes down."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def wait_changed(self, timeout_s: float) -> None:
        """Wait for another event, so many seconds at most."""
        self.asked_at = self._read_at = self._clock.monotonic()
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return


class LogReader(Reader):
    """One client's place in a log."""

    def __init__(self, log: EventLog, behind: int, *, content: bool, seen: int = 0) -> None:
        self._log = log
        self._behind = behind
        self._seen = seen
        self._content = content
        self._begun = False

    async def events(self, timeout_s: float) -> Sequence[SentEvent]:
        """Wait for events, and return all there are; none after so many seconds without any."""
        found = self._log.after(self._behind)
        if not found and not self._log.over(self._behind):
            await self._log.wait_changed(timeout_s)
            found = self._log.after(self._behind)
        # Who has had the terminal event before has nothing to wait for.
        self.ended = self._log.over(self._behind) and not found
        taken = [self._taken(number, event) for number, event in found]
        return [event for event in taken if (self._content or event.type not in CONTENT) and self._is_news(event)]

    def _is_news(self, event: SentEvent) -> bool:
        """Tell whether a client that was connected to another process has not had an event there."""
        seq = seq_of(event)
        return seq > self._seen or (event.type == TERMINAL and seq != self._seen)

    def _taken(self, number: int, event: SentEvent) -> SentEvent:
        missed = number - self._behind - 1
        # Who begins in the middle of a run has not been too slow for what was before.
        self.dropped += missed if self._begun or self._behind or self._seen else 0
        self._behind, self._begun = number, True
        if event.type == TERMINAL:
            self.ended = True
            if self.dropped:
                return self._log.written(number, {**event.wire, "dropped": self.dropped})
        return event
