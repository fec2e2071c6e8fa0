"""Signs of life while something slow is in flight."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tuvl.clock import Clock


@asynccontextmanager
async def beating(every_s: float, beat: Callable[[float], None], clock: Clock) -> AsyncIterator[None]:
    """Call `beat` every so many seconds while the block runs, with the seconds it has run, and never after it."""
    started = clock.monotonic()

    async def pulse() -> None:
        while True:
            await clock.sleep(every_s)
            beat(clock.monotonic() - started)

    task = asyncio.ensure_future(pulse())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait((task,))  # unlike `await task`, tells a cancellation of ours from one of the caller
