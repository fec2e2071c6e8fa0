"""The calls of one reply, as one of them sees the others."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field

from tuvl.dataclass import dataclass


@dataclass(slots=True)
class _Call:
    """Whether one call is over, for those who wait on the loop and those who wait in a thread."""

    on_loop: asyncio.Event = field(default_factory=asyncio.Event)
    in_thread: threading.Event = field(default_factory=threading.Event)


class CallBatch:
    """Keeps which calls of a reply are over: answered, refused or failed. For the last one nobody waits."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._calls = tuple(_Call() for _ in range(size - 1))

    def finished(self, index: int) -> None:
        """Note that a call is over, whatever came of it."""
        for call in self._calls[index : index + 1]:
            call.on_loop.set()
            call.in_thread.set()

    @contextmanager
    def running(self, index: int) -> Iterator[None]:
        """Let the code in the block see its place among the calls; at its end the call is over."""
        token = _place.set(Place(index=index, size=self._size, before=self._calls[:index]))
        try:
            yield
        finally:
            _place.reset(token)
            self.finished(index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one call stands among the calls of its reply."""

    index: int = 0
    """Position in the reply, from 0."""
    size: int = 1
    """How many calls the reply has."""
    before: tuple[_Call, ...] = ()

    async def wait(self) -> None:
        """Wait until every call before this one is over."""
        for call in self.before:
            await call.on_loop.wait()

    def wait_in_thread(self) -> None:
        """Wait the same way in a thread of a synchronous node."""
        for call in self.before:
            call.in_thread.wait()


ALONE = Place()
"""The place of code that no batch of calls has started."""

_place: ContextVar[Place] = ContextVar("tuvl_place_in_batch", default=ALONE)


def place_in_batch() -> Place:
    """Return the place of the call that is running here."""
    return _place.get()


@contextmanager
def out_of_batch() -> Iterator[None]:
    """Let the code in the block stand alone, though a call of a batch has started it."""
    token = _place.set(ALONE)
    try:
        yield
    finally:
        _place.reset(token)
