"""How long a process waits between two looks at a queue: briefly while there is something, for seconds while not.

Whoever puts a run there says so, in the same process at once and in others by a notice of the database, and that ends
the wait. A notice may be lost, with the connection that would bring it: so a queue is looked at now and then anyhow,
and as often as before where notices are not known to come.
"""

import threading
import time
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

REST_S = 5.0
"""Longest wait for news of a queue that is empty, in seconds: how late a run is taken whose notice was lost."""

UNTOLD_S = 0.4
"""The same while no notices come."""

BUSY_S = 2.0
"""Seconds after the last run that was found, or put there from this process, in which looks follow each other."""

NEWS_S = 0.3
"""The same after a notice: most often another process was faster."""

Given = ParamSpec("Given")
Stop = TypeVar("Stop")
Queued = TypeVar("Queued")


class Idling:
    """Whether there may be something on the queues; asked by the threads of all queues of a process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without trust in notices."""
        self._clock = clock
        self._changed = threading.Condition()
        self._busy_until = clock() + BUSY_S
        self._woken_at = clock()
        self._told = False
        self._listeners: list[Callable[[], None]] = []
        self.full: Callable[[], bool] = _never
        """Whether nothing is taken just now, so that looks cost nothing and room is to be seen soon."""

    def wake(self) -> None:
        """Say that there is something, or may be."""
        self._wake(BUSY_S)

    def hear(self) -> None:
        """Say that somebody has told so."""
        self._wake(NEWS_S)

    def trust(self, told: bool) -> None:
        """Say whether whatever is put on a queue is told here."""
        with self._changed:
            self._told = told
            self._changed.notify_all()

    def listen(self, listener: Callable[[], None]) -> None:
        """Have somebody called at each news, from any thread."""
        self._listeners.append(listener)

    @property
    def rest_s(self) -> float:
        """The longest wait just now, in seconds."""
        return REST_S if self._told else UNTOLD_S

    def stir(self) -> None:
        """Have those who wait ask again whether they are to stop."""
        with self._changed:
            self._changed.notify_all()

    def pause(self, since: float, seconds: float, stopped: Callable[[], bool]) -> float:
        """Wait until it is time for the next look, or somebody has stopped; returns the moment.

        `since` is the moment of the last look, and `seconds` the wait while there is something.
        """
        with self._changed:
            begun, busy = self._clock(), False
            while not stopped():
                now = self._clock()
                busy = busy or now < self._busy_until or self._woken_at >= since or self.full()
                left = begun + (seconds if busy else max(seconds, self.rest_s)) - now
                if left <= 0:
                    break
                self._changed.wait(left)
            return self._clock()

    def noticing(
        self, look: Callable[Concatenate[Queued, Given], tuple[list[str], Stop | None]]
    ) -> Callable[Concatenate[Queued, Given], tuple[list[str], Stop | None]]:
        """Return a look that says so when it finds something: there may be more of it."""

        def looked(queue: Queued, /, *given: Given.args, **named: Given.kwargs) -> tuple[list[str], Stop | None]:
            found = look(queue, *given, **named)
            if found[0]:
                self.wake()
            return found

        return looked

    def _wake(self, seconds: float) -> None:
        with self._changed:
            self._woken_at = self._clock()
            self._busy_until = max(self._busy_until, self._woken_at + seconds)
            self._changed.notify_all()
        for listener in self._listeners:
            listener()


def _never() -> bool:
    return False


class Resting(threading.Event):
    """The event at which the thread of a queue stops, as DBOS has it: to wait for it is to rest between two looks."""

    def __init__(self, idling: Idling) -> None:
        super().__init__()
        self._idling = idling
        self._looked_at = float("-inf")

    def set(self) -> None:
        """Stop."""
        super().set()
        self._idling.stir()

    def wait(self, timeout: float | None = None) -> bool:
        """Rest for as long as there is nothing to look for; returns whether it is to stop."""
        if timeout is None:
            return super().wait()
        self._looked_at = self._idling.pause(self._looked_at, timeout, self.is_set)
        return self.is_set()
