"""What reads the events of a run."""

from typing import Protocol

from tuvl.events.types import Event


class Sink(Protocol):
    """A reader of events. It is called from a thread of its own, one event at a time, in order.

    A sink that raises is cut off and logged once; one that is slow misses events. Neither changes the run.
    """

    def accept(self, event: Event) -> None:
        """Take one event."""
        ...
