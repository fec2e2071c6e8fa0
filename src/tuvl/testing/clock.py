"""A clock whose hands a test moves."""

import asyncio
from datetime import UTC, datetime, timedelta

_START = datetime(2026, 1, 1, tzinfo=UTC)


class ManualClock:
    """Time passes only by sleeping, at once, and every sleep is kept in `slept`, in seconds."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self._elapsed = 0.0

    def now(self) -> datetime:
        """Return the time of day."""
        return _START + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Return the seconds that have passed."""
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._elapsed += seconds

    async def sleep(self, seconds: float) -> None:
        """Let time pass at once; other tasks get their turn."""
        self.slept.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)
