"""Ends, on record, runs that are not durable and whose process has died without a word: who waits for them is told."""

import asyncio
import logging
from collections.abc import Callable, Collection

from tuvl.clock import Clock
from tuvl.data.run_records import StoreAccess
from tuvl.errors import TuvlError
from tuvl.redaction import redact
from tuvl.supervision.lost import end_lost

LOOK_S = 5.0
"""Seconds between two looks; a run that is lost at both of them is ended."""

_log = logging.getLogger("tuvl.server")


class LostRuns:
    """Looks for them, for all servers on one store."""

    def __init__(self, access: StoreAccess, *, here: Callable[[], Collection[str]], clock: Clock) -> None:
        """Wire it; `here` gives the ids of the runs of this process, which are not lost whatever the store says."""
        self._access = access
        self._here = here
        self._clock = clock
        self._suspected: set[str] = set()
        self._watching: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to look, and go on until it is closed."""
        self._watching = asyncio.create_task(self._watch(), name="tuvl-lost-runs")

    async def aclose(self) -> None:
        """Stop looking."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def look(self) -> list[str]:
        """Look once; returns the ids of the runs that have been ended.

        A process that could not reach the store for a while gives a sign of life as soon as it can: a run has to be
        lost twice.
        """
        store, here = self._access.store.lost, self._here()
        found = [run for run in await store.found() if run.run_id not in here]
        lost = [run for run in found if run.run_id in self._suspected]
        ended = [run.run_id for run in await end_lost(self._access, lost, at=self._clock.now())]
        for run in lost:
            if run.run_id in ended:
                _log.warning("run %s of %r was lost with its process", run.run_id, run.workflow)
        self._suspected = {run.run_id for run in found}.difference(ended)
        await store.forget_ended()
        return ended

    async def _watch(self) -> None:
        told = False
        while True:
            try:
                await self.look()
                told = False
            except TuvlError as error:
                if not told:
                    _log.warning("lost runs cannot be looked for just now: %s", redact(str(error)))
                told = True
            await asyncio.sleep(LOOK_S)
