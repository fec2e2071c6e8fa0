"""Guest code that goes on although it was told to stop: it is left behind and told of, and no end ever waits for it."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

LAST_MOMENT_S = 1.0
"""How long the end of an event loop waits for what is left in it, in seconds."""

Result = TypeVar("Result")

_going_on: set[object] = set()
"""What was left behind and has not ended; a task that nobody holds would be destroyed, with noise."""

_notes: ContextVar[list[str] | None] = ContextVar("tuvl_left_behind", default=None)

_log = logging.getLogger("tuvl.engine")


@contextmanager
def noting() -> Iterator[list[str]]:
    """Collect in a list what is left behind inside the block; outside of such a block it is logged."""
    notes: list[str] = []
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def leave_behind(task: asyncio.Future[Result], what: str) -> None:
    """Give up a cancelled task that goes on, and tell of it: nobody waits for it, and what it returns is void."""
    told = f"{what} was told to stop and goes on; it is left behind, and what it still does is unknown"
    notes = _notes.get()
    if notes is None:
        _log.warning(told)
    else:
        notes.append(told)
    _forget(task)


def any_left() -> bool:
    """Whether something that was left behind still goes on."""
    return bool(_going_on)


def stop_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what is left in a loop that stands still, and wait for it no longer than a moment."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=LAST_MOMENT_S))
        for task in tasks:
            _forget(task)
    closing = loop.create_task(loop.shutdown_asyncgens())
    loop.run_until_complete(asyncio.wait((closing,), timeout=LAST_MOMENT_S))
    _forget(closing)


def _forget(task: asyncio.Future[Result]) -> None:
    if task.done():
        _read(task)
        return
    _going_on.add(task)
    task.add_done_callback(_ended)
    if isinstance(task, asyncio.Task):
        # `asyncio.run` waits for every task that is registered, without a bound.
        asyncio._unregister_task(task)
        # It has been told of; that the interpreter destroys it at last is no news.
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # the stubs leave it out


def _ended(task: asyncio.Future[Result]) -> None:
    _going_on.discard(task)
    _read(task)


def _read(task: asyncio.Future[Result]) -> None:
    # asyncio complains of an exception that nobody has looked at.
    if not task.cancelled():
        task.exception()
