"""A run whose events are read while it goes: `async with loop.start(…) as run: async for event in run: …`."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Self

from tuvl.errors import UsageError
from tuvl.events.types import Event
from tuvl.library.result import AgentResult

QUEUE_SIZE = 1024
"""Events a reader may be behind before it misses the oldest ones."""


class LiveRun:
    """One run as a context manager and an iterator of its events. Leaving the block early cancels the run."""

    def __init__(self, start: Callable[[Callable[[Event], None]], Awaitable[AgentResult]]) -> None:
        self._start = start
        self._events: deque[Event] = deque()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[AgentResult] | None = None
        self.dropped = 0
        """How many events the reader missed."""

    async def __aenter__(self) -> Self:
        """Start the run."""
        self._task = asyncio.ensure_future(self._run())
        self._task.add_done_callback(lambda _: self._changed.set())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel the run, unless it is over, and wait until nothing of it is left."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def __aiter__(self) -> AsyncIterator[Event]:
        """Yield the events as they happen, the last one included; raises what the run raised."""
        task = self._running()
        while True:
            while self._events:
                yield self._events.popleft()
            if task.done():
                break
            self._changed.clear()
            await self._changed.wait()
        task.result()

    async def result(self) -> AgentResult:
        """Wait for the end of the run and return it."""
        task = self._running()
        await asyncio.wait((task,))  # unlike `await task`, a cancelled reader does not reach into the run
        return task.result()

    async def _run(self) -> AgentResult:
        return await self._start(self._take)

    def _take(self, event: Event) -> None:
        if len(self._events) >= QUEUE_SIZE:
            self._events.popleft()
            self.dropped += 1
        self._events.append(event)
        self._changed.set()

    def _running(self) -> asyncio.Task[AgentResult]:
        if self._task is None:
            raise UsageError("the run has not begun; write `async with loop.start(…) as run:`")
        return self._task
