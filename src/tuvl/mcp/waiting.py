"""Waiting for the first of several events, and leaving nothing behind."""

import asyncio


async def first_of(*events: asyncio.Event, timeout_s: float | None = None) -> None:
    """Return when one of the events is set, or the time is over."""
    waiting = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
