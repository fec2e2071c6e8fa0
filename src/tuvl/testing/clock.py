"""A clock whose hands a test moves."""

import asyncio
import heapq
from datetime import UTC, datetime, timedelta

START = datetime(2030, 1, 1, tzinfo=UTC)
"""What the clock shows at first."""


class ManualClock:
    """Stands still until `advance` moves it; whoever sleeps on it wakes in the order of the times."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        """Every duration that was asked for, in order."""
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._number = 0
        self._changed = asyncio.Event()

    def now(self) -> datetime:
        """Return `START` and what has passed since."""
        return START + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Return the seconds the clock was moved."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been moved so far."""
        self.slept.append(seconds)
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._number += 1
        heapq.heappush(self._sleepers, (self._elapsed + seconds, self._number, wake))
        self._changed.set()
        await wake

    async def until_someone_sleeps(self) -> None:
        """Wait until at least one sleeper is there."""
        while not any(not wake.done() for _, _, wake in self._sleepers):
            self._changed.clear()
            await self._changed.wait()

    async def advance(self, seconds: float) -> None:
        """Move the clock, waking sleepers on the way, each with time to go on before the next wakes."""
        end = self._elapsed + seconds
        while self._sleepers and self._sleepers[0][0] <= end:
            self._elapsed, _, wake = heapq.heappop(self._sleepers)
            if not wake.done():
                wake.set_result(None)
                await asyncio.sleep(0)
        self._elapsed = end
        await asyncio.sleep(0)
