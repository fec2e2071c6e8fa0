"""A deadline is hard, whatever the guest does."""

import asyncio

import pytest

from tuvl.tools.deadline import DeadlineExceededError, GuestCancelledError, run_with_deadline


async def forever():
    await asyncio.Event().wait()


async def test_result_and_error_of_the_work_pass_through():
    async def seven():
        return 7

    async def fail():
        raise KeyError("x")

    assert await run_with_deadline(seven(), 5) == 7
    with pytest.raises(KeyError):
        await run_with_deadline(fail(), 5)


async def test_work_past_its_deadline_is_cancelled():
    with pytest.raises(DeadlineExceededError):
        await run_with_deadline(forever(), 0.01)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_work_that_ignores_its_cancellation_is_abandoned_after_the_grace():
    release, ended = asyncio.Event(), asyncio.Event()

    async def stubborn():
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        ended.set()
        raise RuntimeError("a late failure that nobody hears")

    with pytest.raises(DeadlineExceededError):
        await run_with_deadline(stubborn(), 0.01, grace_s=0.01)
    release.set()
    await ended.wait()


async def test_a_cancelled_caller_cancels_the_work_and_passes_on():
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def work():
        started.set()
        try:
            await forever()
        finally:
            cancelled.set()

    caller = asyncio.create_task(run_with_deadline(work(), 60))
    await started.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert cancelled.is_set()


async def test_work_that_cancels_itself_is_told_apart_from_a_cancelled_caller():
    async def quit():
        raise asyncio.CancelledError

    with pytest.raises(GuestCancelledError):
        await run_with_deadline(quit(), 5)
