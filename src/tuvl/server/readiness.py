"""Whether the store of runs can be used just now, for those who send runs here only then."""

import asyncio

from tuvl.clock import Clock
from tuvl.data.run_records import StoreAccess
from tuvl.errors import TuvlError
from tuvl.server.problems import Problem

KNOWN_S = 1.0
"""How long what was found out is taken to be so, in seconds: anybody may ask, and as often as they like."""

PATIENCE_S = 3.0
"""Seconds after which a store that does not answer is taken to be away."""


class Readiness:
    """Looks at the store, once for all who ask at the same time."""

    def __init__(self, access: StoreAccess, *, clock: Clock) -> None:
        self._access = access
        self._clock = clock
        self._looking: asyncio.Task[bool] | None = None
        self._found_at = 0.0

    async def check(self) -> None:
        """Raise `Problem` while the store is away."""
        looking = self._looking
        if looking is None or (looking.done() and self._clock.monotonic() - self._found_at >= KNOWN_S):
            looking = self._looking = asyncio.create_task(self._look(), name="tuvl-readiness")
        # Not cancelled when it takes too long: a query that is cut off leaves a connection behind.
        await asyncio.wait((looking,), timeout=PATIENCE_S)
        if not (looking.done() and looking.result()):
            raise Problem(503, "store-unreachable", "the store of runs cannot be used just now")

    async def aclose(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
            self._looking = None

    async def _look(self) -> bool:
        try:
            await self._access.store.reach()
        except TuvlError:
            return False
        finally:
            self._found_at = self._clock.monotonic()
        return True
