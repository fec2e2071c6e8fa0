"""How long a database is waited for that does not answer: a run waits on, and whoever answers a request does not."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

PATIENCE_S = 10.0
"""Seconds after which a request takes a database that does not answer to be away."""

_answers: ContextVar[bool] = ContextVar("tuvl_answers", default=False)


@contextmanager
def answering(request: bool = True) -> Iterator[None]:
    """Say that what is done in the block answers a `request`, or that it does not, whoever began it."""
    before = _answers.set(request)
    try:
        yield
    finally:
        _answers.reset(before)


def in_time() -> asyncio.Timeout:
    """Return a block that raises `TimeoutError` where a request would wait too long in it, and else takes its time."""
    return asyncio.timeout(PATIENCE_S if _answers.get() else None)
