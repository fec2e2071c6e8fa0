"""One event to many sinks, each behind a bounded queue and a thread of its own: no sink can slow or stop a run."""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Sequence

from tuvl.events.sink import Sink
from tuvl.events.types import Event, RunFinished, TextDelta

QUEUE_SIZE = 1024
"""Events a sink may be behind before it misses some."""

CLOSE_S = 2.0
"""How long the end of a run waits for slow sinks, in seconds, all of them together."""

_log = logging.getLogger("tuvl.events")


class Fanout:
    """The sinks of one run. Give events with `accept`, in order; end with `aclose`."""

    def __init__(self, sinks: Sequence[Sink], *, size: int = QUEUE_SIZE) -> None:
        self._lanes = tuple(_Lane(sink, size) for sink in sinks)

    @property
    def listening(self) -> bool:
        """Whether anybody reads; nobody needs to make an event otherwise."""
        return bool(self._lanes)

    @property
    def dropped(self) -> int:
        """How many events were not delivered: the sink was too slow, or is cut off."""
        return sum(lane.dropped for lane in self._lanes)

    def accept(self, event: Event) -> None:
        """Hand an event to every sink; returns at once. The terminal event displaces an older one when need be.

        Pieces of text, of which there are many, get only half of each queue: they crowd out no other event.
        """
        must = isinstance(event.body, RunFinished)
        share = 0.5 if isinstance(event.body, TextDelta) else 1.0
        for lane in self._lanes:
            lane.put(event, must=must, share=share)

    async def aclose(self, *, timeout_s: float = CLOSE_S) -> None:
        """Let the sinks read what is queued, for so many seconds at most."""
        for lane in self._lanes:
            lane.close()
        running = [lane for lane in self._lanes if lane.running]
        if running:
            deadline = time.monotonic() + timeout_s
            loop = asyncio.get_running_loop()
            done = [lane.when_done(loop) for lane in running]
            await asyncio.wait(done, timeout=max(0.0, deadline - time.monotonic()))


class _Lane:
    """One sink, its queue and its thread; the thread starts with the first event."""

    def __init__(self, sink: Sink, size: int) -> None:
        self.dropped = 0
        self._sink = sink
        self._size = size
        self._queue: deque[Event] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._broken = False
        self._ended = False
        self._thread: threading.Thread | None = None
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    @property
    def running(self) -> bool:
        """Whether there is a thread that may still deliver."""
        return self._thread is not None and self._thread.is_alive()

    def put(self, event: Event, *, must: bool, share: float) -> None:
        with self._changed:
            if self._broken or self._closed:
                self.dropped += 1
                return
            if len(self._queue) >= self._size * share:
                self.dropped += 1
                if not must:
                    return
                self._queue.popleft()
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
        while (event := self._next()) is not None:
            try:
                self._sink.accept(event)
            except Exception:  # noqa: BLE001 - a sink is a guest: whatever it raises, the run goes on without it
                _log.warning("event sink %r failed and gets no more events", type(self._sink).__name__, exc_info=True)
                with self._changed:
                    self._broken = True
                    self.dropped += 1 + len(self._queue)
                    self._queue.clear()
                break
        self._wake_waiters()

    def _next(self) -> Event | None:
        with self._changed:
            while not self._queue:
                if self._closed:
                    return None
                self._changed.wait()
            return self._queue.popleft()

    def _wake_waiters(self) -> None:
        with self._changed:
            self._ended = True
        for loop, future in self._waiters:
            try:
                loop.call_soon_threadsafe(_finish, future)
            except RuntimeError:
                continue  # the loop is closed: nobody waits any more


def _finish(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
