"""Runs that have ended with their process, and do not know: how they are ended on record."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from datetime import datetime, timedelta

from tuvl.data.run_records import StoreAccess
from tuvl.data.run_rows import LostRun
from tuvl.engine.result import RunResult

SURELY_S = 60.0
"""Seconds without a sign of life after which a process is taken for dead by whoever looks only once."""

MESSAGE = (
    "the process that had the run is gone, and the run with it: what it did until then took place, and nothing says "
    "how far it came"
)

NEVER_BEGUN = (
    "the process that was to put the run on the queue was lost before it had done so; nothing of the run was done, and "
    "it can be started anew"
)

_AT_ONCE = 200
"""Runs that are asked about together."""


async def end_unqueued(
    access: StoreAccess, on_queue: Callable[[Collection[str]], Awaitable[Collection[str]]], *, at: datetime
) -> list[LostRun]:
    """Keep that runs failed which are on record as queued, and on no queue; returns them. Raises `StepError`.

    `on_queue` tells which of some runs there are in the database of durable runs.
    """
    ended = []
    async for runs in _queued(access, before=at - timedelta(seconds=SURELY_S)):
        known = await on_queue([run.run_id for run in runs])
        ended += await end_lost(access, [run for run in runs if run.run_id not in known], at=at, message=NEVER_BEGUN)
    return ended


async def _queued(access: StoreAccess, *, before: datetime) -> AsyncIterator[list[LostRun]]:
    after = ""
    while runs := await access.store.lost.queued(before=before, after=after, limit=_AT_ONCE):
        after = runs[-1].run_id
        yield runs


async def end_lost(
    access: StoreAccess, runs: Iterable[LostRun], *, at: datetime, message: str = MESSAGE
) -> list[LostRun]:
    """Keep that runs failed whose process is gone; returns those of which nobody had kept it. Raises `StepError`."""
    ended = []
    for run in runs:
        took_ms = (at - run.started_at).total_seconds() * 1000
        if await access.store.lost.end(run.run_id, at=at, result=_result(run, took_ms, message).to_json()):
            ended.append(run)
    return ended


def _result(run: LostRun, took_ms: float, message: str) -> RunResult:
    return RunResult.unperformed(
        run.run_id, run.workflow, run.schema_version, type="process_lost", message=message, duration_ms=took_ms
    )
