"""What of a host performs runs: takes them off the queue, minds what is due, and leaves."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from tuvl.complaints import in_a_word, is_of_the_world, traceback_of
from tuvl.control import RunControl
from tuvl.durable.line_state import LineState
from tuvl.durable.queued import SharedRuns, Taker
from tuvl.durable.shared_state import DatabaseFault
from tuvl.events.sink import Sink
from tuvl.hosting.hearing import Hearing
from tuvl.hosting.taking import Taken
from tuvl.hosting.workshop import Workshop
from tuvl.supervision.registry import RunRegistry
from tuvl.tools.approval import Approvals

WATCH_S = 1.0
"""Shortest time between two looks at what is due: orders to stop, times for answers that are over; in seconds."""

LOOK_S = 0.1
"""Seconds between two looks at runs that somebody here waits for."""

_log = logging.getLogger("tuvl.hosting")


class Performer:
    """The part of a host that performs runs; idle until `open`."""

    def __init__(
        self,
        *,
        executor: str,
        concurrency: int,
        sinks_for: Callable[[str], Sequence[Sink]],
        control_for: Callable[[str], RunControl],
        approvals: Approvals,
    ) -> None:
        self.executor = executor
        self._concurrency = concurrency
        self._sinks_for = sinks_for
        self._control_for = control_for
        self._approvals = approvals
        self._alive = True
        self._taker: Taker | None = None
        self._taken: Taken | None = None
        self._runs: SharedRuns | None = None
        self._awaited: dict[str, asyncio.Event] = {}
        self._opening = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None

    def hears(self, alive: bool) -> None:
        """Take no new runs while others may think that this process is gone; called from any thread."""
        self._alive = alive
        self._mind()

    @asynccontextmanager
    async def performing(
        self, runs: SharedRuns, workshop: Workshop, registry: RunRegistry, hearing: Hearing
    ) -> AsyncIterator[None]:
        """Perform runs while the block runs; what goes on at its end is left to others."""
        self._runs = runs
        self._taken = Taken(
            workshop,
            runs.state,
            registry,
            hearing=hearing,
            lines=LineState(runs.state),
            sinks_for=self._sinks_for,
            control_for=self._control_for,
            approvals=self._approvals,
            wake=runs.idling.wake,
        )
        try:
            if self._concurrency:
                await self.open()
            yield
        finally:
            await self._close(self._taken, runs)

    async def open(self) -> None:
        """Begin to take runs, if that is not so yet."""
        async with self._opening:
            if self._taker is not None or self._runs is None or self._taken is None:
                return
            taker = Taker(self._runs, executor=self.executor, concurrency=self._concurrency, body=self._taken.perform)
            taker.open()
            self._taker = taker
            self._mind()
            watching = self._watch(self._taken, self._runs, LineState(self._runs.state))
            self._watching = asyncio.create_task(watching, name="tuvl-host")

    async def _close(self, taken: Taken, runs: SharedRuns) -> None:
        taken.leave()
        self._mind()
        beside = [task for task in (self._watching, self._looking) if task is not None]
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        if self._taker is None:
            return
        await taken.cancel()
        await asyncio.to_thread(self._taker.close)
        # DBOS had put its own in place of the loop's, and has just closed it.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(thread_name_prefix="tuvl"))
        with contextlib.suppress(DatabaseFault):  # whoever finds out that this process is gone does it then
            await asyncio.to_thread(runs.state.release, self.executor)

    async def drain(self, timeout_s: float) -> int:
        """Take no new runs, and leave those that go on here after what each is doing; returns how many still go on."""
        if self._taken is None:
            return 0
        self._taken.leave()
        self._mind()
        until = time.monotonic() + timeout_s
        while self._taken.running and time.monotonic() < until:  # noqa: ASYNC110 - bounded, and rare
            await asyncio.sleep(LOOK_S / 2)
        return len(self._taken.running)

    @property
    def running(self) -> list[str]:
        """Ids of the runs that go on here."""
        return [] if self._taken is None else self._taken.running

    def abort(self, run_id: str, reason: str, *, by: str) -> None:
        """Stop a run if it goes on here."""
        if self._taken is not None:
            self._taken.abort(run_id, reason, by=by)

    async def settled(self, run_id: str) -> None:
        """Wait until a run has ended or waits for somebody, wherever it goes on."""
        event = self._awaited.setdefault(run_id, asyncio.Event())
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="tuvl-awaited")
        await event.wait()

    def _mind(self) -> None:
        leaving = self._taken is not None and self._taken.leaving
        if self._taker is not None:
            self._taker.take_new(self._alive and not leaving)

    async def _look(self) -> None:
        """Look, for all who wait, at once."""
        while self._awaited and self._runs is not None:
            try:
                settled = await asyncio.to_thread(self._runs.state.settled, list(self._awaited))
            except Exception as error:  # noqa: BLE001 - whatever it is, those who wait are to hear of the end
                _overlooked("runs cannot be looked at just now", error)
                settled = set()
            for run_id in settled:
                self._awaited.pop(run_id).set()
            await asyncio.sleep(LOOK_S)

    async def _watch(self, taken: Taken, runs: SharedRuns, lines: LineState) -> None:
        """Mind what is due: at its time, a second after any news of it, and while runs go on here each second."""
        loop, news = asyncio.get_running_loop(), asyncio.Event()
        runs.idling.listen(lambda: _said(loop, news))
        rest = WATCH_S
        while True:
            await asyncio.sleep(min(WATCH_S, rest))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.0 if taken.running else rest - WATCH_S):
                    await news.wait()
            news.clear()
            rest = WATCH_S
            try:
                await taken.obey()
                await asyncio.to_thread(runs.state.wake_overdue, time.time())
                await asyncio.to_thread(lines.call_next)
                rest = _until(await asyncio.to_thread(runs.state.next_due), runs.idling.rest_s)
            except Exception as error:  # noqa: BLE001 - whatever it is, what is due next is to be minded
                _overlooked("what runs are told cannot be read just now", error)


def _overlooked(what: str, error: Exception) -> None:
    level = logging.WARNING if is_of_the_world(error) else logging.ERROR
    _log.log(level, "%s: %s", what, in_a_word(error), exc_info=traceback_of(error))


def _said(loop: asyncio.AbstractEventLoop, news: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody minds anything here any more
        loop.call_soon_threadsafe(news.set)


def _until(due: float | None, rest_s: float) -> float:
    """Return for how long there is nothing to do, in seconds."""
    longest = max(WATCH_S, rest_s)
    return longest if due is None else min(longest, max(0.0, due - time.time()))
