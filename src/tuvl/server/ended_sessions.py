"""Sessions of browsers that were ended: their cookies open nothing from then on, in all processes on one store."""

from datetime import datetime

from tuvl.clock import Clock
from tuvl.data.run_records import StoreAccess

KNOWN_S = 1.0
"""How long a session that went on is taken to do so without a look at the store, in seconds."""

_MOST_KNOWN = 1000


class EndedSessions:
    """What is kept of sessions: those that are over before their time, and nothing of the others."""

    def __init__(self, access: StoreAccess, *, clock: Clock) -> None:
        self._access = access
        self._clock = clock
        self._going: dict[str, float] = {}

    async def add(self, id: str, *, until: datetime) -> None:
        """End a session whose cookie would open things until then; raises `StepError` when that cannot be kept."""
        await self._access.store.access.end_session(id, until=until, at=self._clock.now())
        self._going.pop(id, None)

    async def has(self, id: str) -> bool:
        """Tell whether a session is over; of one that another process has ended within a second."""
        now = self._clock.monotonic()
        looked_at = self._going.get(id)
        if looked_at is not None and now - looked_at < KNOWN_S:
            return False
        if self._access.is_there and await self._access.store.access.has_ended(id):
            return True
        if len(self._going) >= _MOST_KNOWN:
            self._going.clear()
        self._going[id] = now
        return False
