"""Events of one run on their way to one client, whatever the client speaks."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tuvl.dataclass import dataclass
from tuvl.values import JsonObject


@dataclass(frozen=True, slots=True)
class SentEvent:
    """One event: `id` is where a client goes on behind it, `text` the whole of it as a server-sent event."""

    id: str | None
    type: str
    wire: JsonObject
    text: str


class Reader(ABC):
    """Where the events of a stream come from."""

    ended: bool = False
    """Whether there will be no more."""
    dropped: int = 0
    """Events that the client was too slow for."""

    @abstractmethod
    async def events(self, timeout_s: float) -> Sequence[SentEvent]:
        """Wait for events, and return all there are; none after so many seconds without any."""

    async def next(self, timeout_s: float) -> str:
        """Return them as server-sent events; an empty text is none."""
        return "".join(event.text for event in await self.events(timeout_s))
