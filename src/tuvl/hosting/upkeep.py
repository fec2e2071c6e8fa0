"""What a server or a worker does now and then beside its work: it forgets old runs, where it is to."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta

from tuvl.clock import Clock, SystemClock
from tuvl.complaints import in_a_word, traceback_of
from tuvl.errors import TuvlError
from tuvl.hosting.retention import Forgotten, Retention
from tuvl.redaction import redact

FIRST_S = 60.0
"""Seconds after which it is done first: whoever begins has other things to do."""

PAUSE_S = 3600.0
"""Seconds between two times."""

_log = logging.getLogger("tuvl.hosting")


class Upkeep:
    """Keeps the runs of one project in order."""

    def __init__(self, retention: Retention, *, kept_s: float | None, clock: Clock | None = None) -> None:
        """Wire it; `kept_s` says how long runs are kept that have ended, and nothing that they are for ever."""
        self._retention = retention
        self._kept_s = kept_s
        self._also: list[Callable[[], Awaitable[None]]] = []
        self._task: asyncio.Task[None] | None = None
        self._clock = clock or SystemClock()

    def also(self, work: Callable[[], Awaitable[None]]) -> None:
        """Have something else done before: who works with definitions keeps that they are of use."""
        self._also.append(work)

    def open(self) -> None:
        """Begin to do it now and then."""
        self._task = asyncio.create_task(self._work(), name="tuvl-upkeep")

    async def aclose(self) -> None:
        """Do it no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def look(self) -> Forgotten | None:
        """Do it now; returns what was forgotten, and `None` where nothing is to be. Raises `TuvlError`."""
        from tuvl.data.retention import OldRuns  # it imports SQLAlchemy

        for work in self._also:
            await work()
        if self._kept_s is None:
            return None
        before = self._clock.now() - timedelta(seconds=self._kept_s)
        return await self._retention.forget(OldRuns(before=before))

    async def _work(self) -> None:
        await asyncio.sleep(FIRST_S)
        while True:
            try:
                forgotten = await self.look()
                if forgotten is not None and forgotten.runs:
                    _log.info("forgot %d runs that ended long ago", forgotten.runs)
            except TuvlError as error:
                _log.warning("old runs cannot be forgotten just now: %s", redact(str(error)))
            except Exception as error:  # noqa: BLE001 - whatever it is, the next time is to come
                said = "what is done now and then was cut off, and is done again: %s"
                _log.error(said, in_a_word(error), exc_info=traceback_of(error))
            await asyncio.sleep(PAUSE_S)
