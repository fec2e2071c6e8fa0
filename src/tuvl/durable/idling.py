"""How often a process looks at a queue: as often as DBOS would while there is something, rarely while there is not."""

import threading
import time
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

IDLE_LOOK_S = 0.4
"""Seconds between two looks at a queue that has been empty for a while."""

BUSY_S = 2.0
"""Seconds after the last run that was found, or put there from this process, in which each look is taken."""

Given = ParamSpec("Given")
Stop = TypeVar("Stop")


class Named(Protocol):
    """A queue."""

    name: str


Queued = TypeVar("Queued", bound=Named)


class Idling:
    """Tells whether a look is worth its price; asked by the threads of all queues of a process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._busy_until = clock() + BUSY_S
        self._looked: dict[str, float] = {}

    def wake(self) -> None:
        """Say that there is something, or may be."""
        with self._lock:
            self._busy_until = self._clock() + BUSY_S

    def looks(self, queue: str) -> bool:
        """Tell whether to look at a queue now."""
        with self._lock:
            now = self._clock()
            if now >= self._busy_until and now - self._looked.get(queue, -IDLE_LOOK_S) < IDLE_LOOK_S:
                return False
            self._looked[queue] = now
            return True

    def rarely(
        self, look: Callable[Concatenate[Queued, Given], tuple[list[str], Stop | None]]
    ) -> Callable[Concatenate[Queued, Given], tuple[list[str], Stop | None]]:
        """Return a look that is taken when it is worth it, and else finds nothing."""

        def looked(queue: Queued, /, *given: Given.args, **named: Given.kwargs) -> tuple[list[str], Stop | None]:
            if not self.looks(queue.name):
                return [], None
            found = look(queue, *given, **named)
            if found[0]:
                self.wake()
            return found

        return looked
