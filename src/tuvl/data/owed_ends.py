"""Ends of runs that the store of runs could not take when they came: kept as soon as it can be reached again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import TypeAlias

from tuvl.complaints import in_a_word, traceback_of
from tuvl.data.fault_types import BROKEN, BUSY, UNREACHABLE
from tuvl.errors import StepError

PAUSE_S = 1.0
"""Seconds between two attempts: others take a run for lost that they find without an end twice, five seconds apart."""

AWAY = (UNREACHABLE, BUSY, BROKEN)
"""Types of the errors of a store that may be back in a moment, and take what it has not taken."""

Keep: TypeAlias = Callable[[], Awaitable[None]]
"""Keeps the end of a run; raises what the store says."""

_log = logging.getLogger("tuvl.data")


class OwedEnds:
    """The ends that are still to be kept, tried again and again as long as their process lives."""

    def __init__(self) -> None:
        self._owed: dict[str, Keep] = {}
        self._trying: asyncio.Task[None] | None = None

    @property
    def ids(self) -> Collection[str]:
        """Ids of the runs that have ended here, and do not on record."""
        return self._owed.keys()

    def owe(self, run_id: str, keep: Keep) -> None:
        """Have the end of a run be kept later."""
        self._owed[run_id] = keep
        if self._trying is None or self._trying.done():
            self._trying = asyncio.create_task(self._try(), name="tuvl-owed-ends")

    async def aclose(self) -> None:
        """Try once more, and give up what cannot be kept now."""
        trying, self._trying = self._trying, None
        if trying is not None:
            trying.cancel()
            await asyncio.gather(trying, return_exceptions=True)
        await self._keep_all()
        for run_id in self._owed:
            _log.warning("how run %r ended is not in the store of runs, which cannot be reached", run_id)
        self._owed.clear()

    async def _try(self) -> None:
        while self._owed:
            await asyncio.sleep(PAUSE_S)
            await self._keep_all()

    async def _keep_all(self) -> None:
        for run_id, keep in list(self._owed.items()):
            try:
                await keep()
            except StepError as error:
                if is_away(error):
                    return
                _given_up(run_id, error)
            except Exception as error:  # noqa: BLE001 - one end that nothing can keep must not hold up the others
                _given_up(run_id, error)
            else:
                _log.info("how run %r ended is in the store of runs by now", run_id)
            self._owed.pop(run_id, None)


def is_away(error: Exception) -> bool:
    """Tell whether the store could not be reached or written just now, and may take the same a moment later."""
    return isinstance(error, StepError) and error.type in AWAY


def _given_up(run_id: str, error: Exception) -> None:
    said = "how run %r ended cannot be kept in the store of runs: %s"
    _log.error(said, run_id, in_a_word(error), exc_info=traceback_of(error))
