"""Runs that have ended with their process, and do not know: how they are ended on record."""

from collections.abc import Iterable
from datetime import datetime

from tuvl.data.run_records import StoreAccess
from tuvl.data.run_rows import LostRun
from tuvl.engine.result import RunError, RunResult, Usage

SURELY_S = 60.0
"""Seconds without a sign of life after which a process is taken for dead by whoever looks only once."""

MESSAGE = (
    "the process that had the run is gone, and the run with it: what it did until then took place, and nothing says "
    "how far it came"
)


async def end_lost(access: StoreAccess, runs: Iterable[LostRun], *, at: datetime) -> list[LostRun]:
    """Keep that runs failed whose process is gone; returns those of which nobody had kept it. Raises `StepError`."""
    ended = []
    for run in runs:
        took_ms = (at - run.started_at).total_seconds() * 1000
        if await access.store.lost.end(run.run_id, at=at, result=_result(run, took_ms).to_json()):
            ended.append(run)
    return ended


def _result(run: LostRun, took_ms: float) -> RunResult:
    return RunResult(
        run_id=run.run_id,
        workflow=run.workflow,
        schema_version=run.schema_version,
        status="failed",
        signal=None,
        output=None,
        context={},
        error=RunError(type="process_lost", message=MESSAGE, step=None),
        usage=Usage(),
        steps=(),
        duration_ms=took_ms,
    )
