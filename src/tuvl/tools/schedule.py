"""How the calls of one reply run: one at a time, or together up to a bound; their results always come in call order."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from tuvl.journal import Suspended

Result = TypeVar("Result")


async def run_in_order(
    jobs: Sequence[Callable[[], Awaitable[Result]]], *, limit: int, accept: Callable[[Result], Awaitable[None]]
) -> None:
    """Run jobs, at most `limit` at once, and hand each result to `accept`, in the order of the jobs.

    When a job raises, or `accept` does, the jobs still running are cancelled and waited for before the error passes
    on; of several jobs that raised, the first in order is the one that is heard. Where a job waits for a person, those
    still running come to their end first: an effect that was cut off would be one that nobody knows the outcome of.
    """
    if limit == 1 or len(jobs) == 1:
        for job in jobs:
            await accept(await job())
        return
    slots = asyncio.Semaphore(limit)
    running: set[asyncio.Task[object]] = set()

    async def run(job: Callable[[], Awaitable[Result]]) -> Result:
        await slots.acquire()
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        result = await job()
        slots.release()  # not after a failure: nothing new begins then
        return result

    tasks = [asyncio.create_task(run(job)) for job in jobs]
    try:
        await _accept_in_order(tasks, accept)
    except Suspended:
        for task in tasks:
            if task not in running:
                task.cancel()  # it has not begun, and goes on from the record later
        await asyncio.wait(tasks)
        raise
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _accept_in_order(tasks: Sequence[asyncio.Task[Result]], accept: Callable[[Result], Awaitable[None]]) -> None:
    accepted = 0
    running: set[asyncio.Task[Result]] = set(tasks)
    while accepted < len(tasks):
        if running:
            _, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done() and task.exception() is not None:
                task.result()  # raises; the siblings are cancelled by the caller
        while accepted < len(tasks) and tasks[accepted].done():
            await accept(tasks[accepted].result())
            accepted += 1
