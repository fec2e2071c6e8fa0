"""How often a model is called: calls take places in time, and each waits for its own.

A place is taken before the call is made, in the order in which callers come, so that nobody waits without end. A
caller who leaves while it waits gives its place back.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol
from uuid import uuid4

from tuvl.clock import Clock
from tuvl.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Most calls of a model in any stretch of so many seconds."""

    model: str
    calls: int
    per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A place in time that a call has taken."""

    id: str
    wait_s: float
    """Seconds until it comes, counted from when it was taken."""


class Paces(Protocol):
    """Where the places are kept: in this process, or where other processes see them."""

    async def take(self, rate: Rate) -> Turn:
        """Take the next place."""
        ...

    async def give_back(self, rate: Rate, turn: Turn) -> None:
        """Give a place back that no call was made in."""
        ...


class LocalPaces:
    """The places of one process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._taken: dict[str, deque[tuple[float, str]]] = {}

    async def take(self, rate: Rate) -> Turn:
        """Take the next place."""
        now = self._clock.monotonic()
        taken = self._taken.setdefault(rate.model, deque())
        while taken and taken[0][0] <= now - rate.per_s:
            taken.popleft()
        at = now if len(taken) < rate.calls else max(now, taken[-rate.calls][0] + rate.per_s)
        turn = Turn(id=uuid4().hex, wait_s=at - now)
        taken.append((at, turn.id))
        return turn

    async def give_back(self, rate: Rate, turn: Turn) -> None:
        """Give a place back that no call was made in."""
        taken = self._taken.get(rate.model, deque())
        self._taken[rate.model] = deque(each for each in taken if each[1] != turn.id)


async def wait_for_turn(
    paces: Paces, rate: Rate, sleep: Callable[[float], Awaitable[None]], told: Callable[[float], None]
) -> float:
    """Wait until a call may be made; `told` hears beforehand how many seconds. Returns how many they were."""
    turn = await paces.take(rate)
    if turn.wait_s <= 0:
        return 0.0
    told(turn.wait_s)
    try:
        await sleep(turn.wait_s)
    except asyncio.CancelledError:
        await asyncio.shield(paces.give_back(rate, turn))
        raise
    return turn.wait_s
