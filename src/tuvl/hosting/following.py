"""Who follows a durable run over all processes that have had it."""

from abc import abstractmethod

from tuvl.events.sink import InlineSink
from tuvl.events.types import Event


class Follower(InlineSink):
    """Hears of a run that is performed here: each event of it once, whichever process it has come from."""

    @abstractmethod
    def before(self, event: Event) -> None:
        """Take an event of before the run came here; they come first, and none of them is news."""
