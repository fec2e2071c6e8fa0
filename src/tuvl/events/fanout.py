"""One event to many sinks, each behind a bounded queue and a thread of its own: no sink can slow or stop a run."""

import asyncio
import logging
import math
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from tuvl.complaints import in_a_word, traceback_of
from tuvl.events.sink import BatchSink, InlineSink, Sink
from tuvl.events.types import Event, RunFinished, TextDelta

QUEUE_SIZE = 1024
"""Events a sink may be behind before it misses some."""

BATCH_QUEUE_SIZE = 100_000
"""The same for a sink that takes many at once."""

BATCH = 256
"""Most events that such a sink gets at once."""

CLOSE_S = 2.0
"""How long the end of a run waits for sinks that do not get on, in seconds, all of them together."""

DRAIN_S = 10.0
"""How long it waits for a sink that takes many at once and does get on, in seconds."""

LOOKS = 5
"""How often a sink that stands still is looked at before it is given up: a whole machine that did is no hung sink."""

_log = logging.getLogger("tuvl.events")


class Fanout:
    """The sinks of one run. Give events with `accept`, in order; end with `aclose`."""

    def __init__(self, sinks: Sequence[Sink], *, size: int = QUEUE_SIZE, batch_size: int = BATCH_QUEUE_SIZE) -> None:
        self._inline = tuple(sink for sink in sinks if isinstance(sink, InlineSink))
        self._lanes = tuple(
            _Lane(sink, batch_size if isinstance(sink, BatchSink) else size)
            for sink in sinks
            if not isinstance(sink, InlineSink)
        )

    @property
    def listening(self) -> bool:
        """Whether anybody reads; nobody needs to make an event otherwise."""
        return bool(self._lanes or self._inline)

    @property
    def dropped(self) -> int:
        """How many events were not delivered: the sink was too slow, or is cut off."""
        return sum(lane.dropped for lane in self._lanes)

    def accept(self, event: Event) -> None:
        """Hand an event to every sink; returns at once.

        Pieces of text, of which there are many, get only half of each queue: they crowd out no other event. The
        terminal event has a place of its own, and tells each sink how many it has missed.
        """
        for sink in self._inline:
            sink.accept(event)
        share = 0.5 if isinstance(event.body, TextDelta) else 1.0
        for lane in self._lanes:
            lane.put(event, share=share)

    async def aclose(self, *, timeout_s: float = CLOSE_S) -> None:
        """Let the sinks read what is queued, then the terminal event in any case: what hangs gets so many seconds."""
        for lane in self._lanes:
            lane.close()
        running = [lane.drain(timeout_s / 2) for lane in self._lanes if lane.running]
        if running:
            await asyncio.gather(*running)


class _Lane:
    """One sink, its queue and its thread; the thread starts with the first event."""

    def __init__(self, sink: Sink, size: int) -> None:
        self.dropped = 0
        self._sink = sink
        self._size = size
        self._queue: deque[Event] = deque()
        self._last: Event | None = None
        self._has_last = False
        self._changed = threading.Condition()
        self._closed = False
        self._broken = False
        self._ended = False
        self._delivered = 0
        self._thread: threading.Thread | None = None
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    @property
    def running(self) -> bool:
        """Whether there is a thread that may still deliver."""
        return self._thread is not None and self._thread.is_alive()

    def put(self, event: Event, *, share: float) -> None:
        with self._changed:
            if self._has_last:
                return  # nothing follows the terminal event
            last = isinstance(event.body, RunFinished)
            full = not last and len(self._queue) >= self._size * share
            if self._broken or self._closed or full:
                self.dropped += 1
                return
            if last:
                self._last, self._has_last = event, True
            else:
                self._queue.append(event)
            if self._thread is None:
                # A daemon: a sink that hangs must not hold up the end of the process.
                self._thread = threading.Thread(target=self._deliver, name="tuvl-sink", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    async def drain(self, patience_s: float) -> None:
        """Wait while the sink gets on; then drop what is queued, so that the terminal event is next."""
        done = self.when_done(asyncio.get_running_loop())
        most = DRAIN_S / patience_s if isinstance(self._sink, BatchSink) else 1
        before, idle = self._progress(), 0
        for _ in range(math.ceil(most * LOOKS)):
            await asyncio.wait((done,), timeout=patience_s / LOOKS)
            now = self._progress()
            before, idle = now, idle + 1 if now == before else 0
            if done.done() or idle == LOOKS:
                break
        if not done.done():
            with self._changed:
                self.dropped += len(self._queue)
                self._queue.clear()
            await asyncio.wait((done,), timeout=patience_s)

    def _progress(self) -> int:
        return self._delivered + (self._sink.progress if isinstance(self._sink, BatchSink) else 0)

    def when_done(self, loop: asyncio.AbstractEventLoop) -> "asyncio.Future[None]":
        """Return a future that is done when the thread has ended."""
        future: asyncio.Future[None] = loop.create_future()
        with self._changed:
            if self._ended:
                future.set_result(None)
            else:
                self._waiters.append((loop, future))
        return future

    def _deliver(self) -> None:
        while events := self._next():
            try:
                self._hand(events)
            except Exception as error:  # noqa: BLE001 - a sink is a guest: whatever it raises, the run goes on
                said, sink = "event sink %r failed and gets no more events: %s", type(self._sink).__name__
                _log.warning(said, sink, in_a_word(error), exc_info=traceback_of(error))
                with self._changed:
                    self._broken = True
                    self.dropped += len(events) + len(self._queue) + (self._last is not None)
                    self._queue.clear()
                break
            self._delivered += len(events)
        self._wake_waiters()

    def _hand(self, events: Sequence[Event]) -> None:
        if isinstance(self._sink, BatchSink):
            self._sink.accept_batch(events)
            return
        for event in events:
            self._sink.accept(event)

    def _next(self) -> list[Event]:
        """Wait for events; none are left when it returns none."""
        most = BATCH if isinstance(self._sink, BatchSink) else 1
        with self._changed:
            while not self._queue:
                if self._last is not None:
                    last, self._last = self._last, None
                    return [_with_dropped(last, self.dropped)]
                if self._closed:
                    return []
                self._changed.wait()
            return [self._queue.popleft() for _ in range(min(most, len(self._queue)))]

    def _wake_waiters(self) -> None:
        with self._changed:
            self._ended = True
        for loop, future in self._waiters:
            try:
                loop.call_soon_threadsafe(_finish, future)
            except RuntimeError:
                continue  # the loop is closed: nobody waits any more


def _with_dropped(event: Event, dropped: int) -> Event:
    """Return the terminal event as a sink gets it that has missed so many."""
    if not dropped or not isinstance(event.body, RunFinished):
        return event
    return replace(event, body=replace(event.body, dropped=dropped))


def _finish(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
