"""Starts the runs that are due by schedules, each slot once, however many processes do so at the same time.

Nothing is agreed on beforehand. The id of a run is made of its workflow and its slot, and a run that is there already
is attached to: whoever comes first starts it, and a process that dies in that moment has either put the run on record
or left it to the others. The time is that of the database, so that nobody's clock matters.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from tuvl.complaints import in_a_word, traceback_of
from tuvl.durable.schedule_state import ScheduleState
from tuvl.durable.shared_state import DatabaseFault
from tuvl.errors import TuvlError
from tuvl.hosting.requests import StartRequest
from tuvl.hosting.schedules import Read, Schedule, read_schedules
from tuvl.hosting.slots import MINUTE_S, latest_slot
from tuvl.principal import Principal
from tuvl.redaction import redact

GRACE_S = 3600.0
"""How late a slot is started that nobody was there for, in seconds; of several that were missed, only the latest."""

LOOK_S = 5.0
"""Longest pause between two looks, in seconds: how late a slot is started after the database was away, for one."""

SCHEDULER = Principal(id="schedule")
"""Who runs act for that no person has started: like the local operator, they may do everything."""

_log = logging.getLogger("tuvl.hosting")


@asynccontextmanager
async def scheduling(
    root: Path, state: ScheduleState, start: Callable[[StartRequest], Awaitable[str]]
) -> AsyncIterator["Scheduler"]:
    """Start what is due in a project while the block runs."""
    scheduler = Scheduler(root, state, start)
    scheduler.open()
    try:
        yield scheduler
    finally:
        await scheduler.stop()


class Scheduler:
    """Starts what is due in a project, from `open` to `stop`."""

    def __init__(
        self,
        root: Path,
        state: ScheduleState,
        start: Callable[[StartRequest], Awaitable[str]],
        *,
        grace_s: float = GRACE_S,
    ) -> None:
        """Wire it; `start` starts a run, or attaches to the one of that id."""
        self._root = root
        self._state = state
        self._start = start
        self._grace_s = grace_s
        self._read: Read | None = None
        self._since: dict[tuple[str, str], float] = {}
        self._done: dict[tuple[str, str], float] = {}
        """Schedule → the last slot of which there is a run."""
        self._task: asyncio.Task[None] | None = None
        self._told: dict[str, str] = {}
        """Workflow → what was said last of a run that could not be started."""

    def open(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run(), name="tuvl-schedules")

    async def stop(self) -> None:
        """Start nothing more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            pause = LOOK_S
            try:
                pause = await self.look()
            except DatabaseFault as error:
                _log.warning("schedules wait for their database: %s", type(error).__name__)
            except Exception as error:  # noqa: BLE001 - whatever it is, the next slot is to be started
                said = "schedules could not be looked at, and are looked at again: %s"
                _log.error(said, in_a_word(error), exc_info=traceback_of(error))
            await asyncio.sleep(pause)

    async def look(self) -> float:
        """Start what is due; returns after how many seconds to look again."""
        now = await asyncio.to_thread(self._state.now)
        await self._reread()
        for schedule in () if self._read is None else self._read.schedules:
            after = max(self._done.get(schedule.key, 0.0), self._since[schedule.key], now - self._grace_s)
            slot = latest_slot(schedule.cron, schedule.zone, after=after, until=now)
            if slot is not None and await self._started(schedule, slot):
                self._done[schedule.key] = slot
        return min(LOOK_S, MINUTE_S - now % MINUTE_S)

    async def _reread(self) -> None:
        read = await asyncio.to_thread(read_schedules, self._root, self._read)
        if read is self._read:
            return
        keys = [schedule.key for schedule in read.schedules]
        self._since = await asyncio.to_thread(self._state.since, keys) if keys else {}
        self._read = read
        for workflow, why in read.unusable.items():
            _log.warning("workflow %r starts nothing: %s", workflow, why)
        for file in read.hidden:
            _log.warning("%r has a mistake that may hide a workflow, whose schedule would start nothing", file)

    async def _started(self, schedule: Schedule, slot: float) -> bool:
        request = StartRequest(
            workflow=schedule.workflow, input=schedule.input, principal=SCHEDULER, run_id=schedule.run_id(slot)
        )
        try:
            await self._start(request)
        except TuvlError as error:
            # Looked at again as long as the slot is not too old: the database may come back, the file be mended.
            why = redact(str(error))
            if self._told.get(schedule.workflow) != why:
                self._told[schedule.workflow] = why
                _log.warning("workflow %r is due and cannot be started: %s", schedule.workflow, why)
            return False
        self._told.pop(schedule.workflow, None)
        return True
