"""Time as a port, so that tests can hold the hands."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the engine needs to know of time; all durations are seconds."""

    def now(self) -> datetime:
        """Return the time of day, with its zone, for records."""
        ...

    def monotonic(self) -> float:
        """Return a count of seconds that never goes back, for durations and deadlines."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The real one."""

    def now(self) -> datetime:
        """Return the time of day in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return `time.monotonic()`, the clock that asyncio's deadlines use too."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking other runs."""
        await asyncio.sleep(seconds)
