"""Gates at which a run of a test waits until the test opens them; each has the name that the run gives."""

import asyncio

_OPEN: dict[str, asyncio.Event] = {}
_REACHED: dict[str, asyncio.Event] = {}


async def wait_at(name: str) -> None:
    """Say that the gate is reached, and wait until it is open: what a node does."""
    _REACHED.setdefault(name, asyncio.Event()).set()
    await _OPEN.setdefault(name, asyncio.Event()).wait()


async def reached(name: str) -> None:
    """Wait until a run has come to the gate."""
    async with asyncio.timeout(60):
        await _REACHED.setdefault(name, asyncio.Event()).wait()


def opened(name: str) -> None:
    """Open the gate, for good."""
    _OPEN.setdefault(name, asyncio.Event()).set()


def forget() -> None:
    """Forget all gates: the next test of this process has its own, whatever it calls them."""
    _OPEN.clear()
    _REACHED.clear()
