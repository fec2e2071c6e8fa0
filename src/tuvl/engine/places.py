"""Runs of one process, of whose workflow only so many go on at once: the others wait, first come, first served."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tuvl.clock import Clock
from tuvl.control import Aborted, RunControl


class Places:
    """The places of each workflow."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._free: dict[tuple[str, int], asyncio.Semaphore] = {}

    @asynccontextmanager
    async def one(
        self, workflow: str, most: int | None, control: RunControl, *, timeout_s: float | None
    ) -> AsyncIterator[float]:
        """Have a place while the block runs; gives the seconds that it was waited for.

        A run that is aborted, or whose time is over, while it waits has none: it goes on to its end at once.
        """
        if most is None:
            yield 0.0
            return
        free = self._free.setdefault((workflow, most), asyncio.Semaphore(most))
        begun = self._clock.monotonic()
        has_one = await _acquired(free, control, timeout_s)
        try:
            yield self._clock.monotonic() - begun
        finally:
            if has_one:
                free.release()


async def _acquired(free: asyncio.Semaphore, control: RunControl, timeout_s: float | None) -> bool:
    try:
        with control.abortable():
            async with asyncio.timeout(timeout_s):
                await free.acquire()
    except (Aborted, TimeoutError):
        return False
    return True
