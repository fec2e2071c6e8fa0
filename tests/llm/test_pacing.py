"""Calls take places in time: so many in any stretch, in the order in which they come."""

import asyncio

import pytest

from tests.support.clock import SkippingClock
from tuvl.llm.pacing import LocalPaces, Rate, wait_for_turn
from tuvl.testing.clock import ManualClock

RATE = Rate(model="m", calls=2, per_s=10.0)


def test_no_stretch_of_the_time_holds_more_calls_than_may_be() -> None:
    clock = SkippingClock()
    paces, made = LocalPaces(clock), []

    async def call(elapsed: float) -> None:
        clock.elapsed = elapsed
        made.append(elapsed + (await paces.take(RATE)).wait_s)

    async def calls() -> None:
        for elapsed in (0, 1, 2, 3, 9, 25, 25, 25, 60):
            await call(elapsed)

    asyncio.run(calls())
    assert made == [0, 1, 10, 11, 20, 25, 30, 35, 60]
    for at in made:
        assert sum(at - RATE.per_s < other <= at for other in made) <= RATE.calls


async def test_models_have_places_of_their_own() -> None:
    paces = LocalPaces(SkippingClock())
    one, other = Rate(model="a", calls=1, per_s=5), Rate(model="b", calls=1, per_s=5)
    assert [(await paces.take(rate)).wait_s for rate in (one, other, one)] == [0, 0, 5]


async def test_whoever_comes_first_is_called_first_and_is_told_how_long_it_waits() -> None:
    clock, told, order = ManualClock(), [], []
    paces = LocalPaces(clock)

    async def call(name: str) -> None:
        await wait_for_turn(paces, RATE, clock.sleep, told.append)
        order.append(name)

    tasks = [asyncio.create_task(call(name)) for name in "abcde"]
    await clock.until_someone_sleeps()
    for _ in range(4):
        await clock.advance(5)
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert order == ["a", "b", "c", "d", "e"]
    assert told == [10, 10, 20]


async def test_a_place_is_given_back_by_whoever_leaves_while_it_waits() -> None:
    clock = ManualClock()
    paces = LocalPaces(clock)
    await paces.take(RATE)
    await paces.take(RATE)
    waiting = asyncio.create_task(wait_for_turn(paces, RATE, clock.sleep, lambda _: None))
    await clock.until_someone_sleeps()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    turns = [(await paces.take(RATE)).wait_s for _ in range(3)]
    assert turns == [10, 10, 20], "as if nobody had waited, and never more than may be"
