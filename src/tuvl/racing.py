"""Waiting for one thing unless another one comes first, and leaving nothing behind."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Result = TypeVar("Result")


async def unless(wanted: Awaitable[Result], other: Awaitable[object]) -> Result | None:
    """Return what is wanted, or raise what it raises; `None` when the other thing has come first."""
    getting, coming = asyncio.ensure_future(wanted), asyncio.ensure_future(other)
    try:
        await asyncio.wait((getting, coming), return_when=asyncio.FIRST_COMPLETED)
        return getting.result() if getting.done() else None
    finally:
        getting.cancel()
        coming.cancel()
        await asyncio.gather(getting, coming, return_exceptions=True)
