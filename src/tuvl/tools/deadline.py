"""A hard deadline for guest code: what ignores its cancellation is abandoned after a grace, never waited for."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from tuvl.leftovers import leave_behind

Result = TypeVar("Result")

GRACE_S = 5.0
"""How long cancelled code may take to clean up, in seconds."""


class DeadlineExceededError(Exception):
    """The code did not finish in time."""


class GuestCancelledError(Exception):
    """The code cancelled itself: nobody else asked for it."""


async def run_with_deadline(
    work: Coroutine[object, object, Result], timeout_s: float | None, *, what: str = "code", grace_s: float = GRACE_S
) -> Result:
    """Await `work` for at most `timeout_s` seconds (`None`: for ever), in a task of its own; `what` names it.

    Raises `DeadlineExceededError` after that. A cancellation of the caller cancels the work, gives it the same grace
    and then passes on; a late result of abandoned work is dropped.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait((task,), timeout=timeout_s)
    except asyncio.CancelledError:
        await _stop(task, what, grace_s)
        raise
    if not task.done():
        await _stop(task, what, grace_s)
        raise DeadlineExceededError
    if task.cancelled():
        raise GuestCancelledError
    return task.result()


async def _stop(task: asyncio.Future[Result], what: str, grace_s: float) -> None:
    task.cancel()
    # Whether it ends in time or not, nobody reads its outcome any more; asyncio would complain otherwise.
    task.add_done_callback(_discard)
    try:
        await asyncio.wait((task,), timeout=grace_s)
    finally:
        if not task.done():
            leave_behind(task, what)


def _discard(task: asyncio.Future[Result]) -> None:
    if not task.cancelled():
        task.exception()
