"""Who follows a durable run over all processes that have had it."""

from abc import abstractmethod

from tuvl.events.sink import InlineSink
from tuvl.events.types import Event


class Follower(InlineSink):
    """Hears of a run that is performed here: each event of it once, whichever process it has come from.

    What it tells others of an event that is to be kept it tells once the event is: the process that has the run next
    knows then that it was told.
    """

    @abstractmethod
    def before(self, event: Event) -> None:
        """Take an event of before the run came here; they come first, and none of them is news."""

    @abstractmethod
    def kept(self, seq: int) -> None:
        """Hear that events up to a number are kept, or that they cannot be kept just now."""

    @property
    @abstractmethod
    def watched(self) -> bool:
        """Whether somebody waits for the events."""
