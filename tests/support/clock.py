"""Clocks for tests: one that passes as fast as it is asked to, and that of the event loop, moved on by hand."""

import asyncio
from datetime import UTC, datetime, timedelta

START = datetime(2030, 1, 1, tzinfo=UTC)


class SkippingClock:
    """Sleeping moves the time on at once; every sleep is kept in `slept`."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.elapsed = 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self.elapsed)

    def monotonic(self) -> float:
        return self.elapsed

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.elapsed += seconds
        await asyncio.sleep(0)


class LoopTime:
    """The time of the running event loop. It passes as always, and a test moves it on.

    So a deadline of `asyncio` comes when the test says, at a known place, however slow the machine is: give it more
    seconds than any machine takes to get there, and move on by as many.
    """

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        passes = loop.time
        self._ahead = 0.0
        loop.time = lambda: passes() + self._ahead  # type: ignore[method-assign]

    def advance(self, seconds: float) -> None:
        """Let so many seconds pass at once. Call it on the event loop."""
        self._ahead += seconds
