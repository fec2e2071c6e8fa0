"""A clock that passes as fast as it is asked to."""

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
