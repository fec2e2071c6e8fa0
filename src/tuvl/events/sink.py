"""What reads the events of a run."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from tuvl.events.types import Event


class Sink(Protocol):
    """A reader of events. It is called from a thread of its own, one event at a time, in order.

    A sink that raises is cut off and logged once; one that is slow misses events. Neither changes the run.
    """

    def accept(self, event: Event) -> None:
        """Take one event."""
        ...


class BatchSink(ABC):
    """A sink that takes many events at once, and that is waited for at the end of a run as long as it gets on."""

    progress = 0
    """Grows with whatever the sink gets done; one in which it stands still is taken to hang."""

    def accept(self, event: Event) -> None:
        """Take one event."""
        self.accept_batch((event,))

    @abstractmethod
    def accept_batch(self, events: Sequence[Event]) -> None:
        """Take some events, in order."""


class InlineSink(ABC):
    """A sink of our own that takes each event at once, where it is made: it must neither wait nor raise.

    It costs a run no thread and no queue; what it hands the events on to has to have a queue of its own.
    """

    @abstractmethod
    def accept(self, event: Event) -> None:
        """Take one event."""
