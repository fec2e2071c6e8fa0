"""Reading runs: those on record, and those of this process that are not there yet."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

from tuvl.data.patience import in_time
from tuvl.data.run_records import StoreAccess
from tuvl.data.run_rows import Rows, RunFilter, TraceFilter
from tuvl.principal import Principal
from tuvl.server.live_runs import LiveRun, LiveRuns
from tuvl.server.problems import unknown_run
from tuvl.values import JsonObject, is_storable

Unlisted: TypeAlias = Callable[[str, Principal], Awaitable[JsonObject | None]]
"""Shows a run that the store of runs knows nothing of, when there is one that somebody may see."""


async def nowhere(run_id: str, reader: Principal) -> JsonObject | None:
    """Know of no run that the store of runs does not know."""
    return None


class Reading:
    """What a server shows of its runs; whoever may not see a run is told that there is none."""

    def __init__(self, access: StoreAccess, live: LiveRuns) -> None:
        self._access = access
        self._live = live
        self.unlisted: Unlisted = nowhere
        """Where else runs are: durable ones are accepted before they are on the list."""

    async def runs(self, asked: RunFilter, reader: Principal) -> Rows:
        """Return the runs that the reader may see, newest first."""
        there = self._access.is_there and is_storable(asked.workflow, asked.principal)
        return await self._access.store.listed(asked, reader) if there else []

    async def run(self, run_id: str, reader: Principal) -> JsonObject:
        """Return one run whole; raises `Problem`."""
        if not is_storable(run_id):
            raise unknown_run(run_id)
        live = self._live.find(run_id, reader)
        if live is not None and live.log.ended:
            with suppress(TimeoutError):
                async with in_time():
                    await live.done.wait()  # its last event is out, and its record nearly so
        found = await self._access.store.show(run_id, reader) if self._access.is_there else None
        if found is None and live is not None:
            return _unrecorded(live)
        if found is None:
            found = await self.unlisted(run_id, reader)
        if found is None:
            raise unknown_run(run_id)
        return found

    async def trace(self, run_id: str, asked: TraceFilter, reader: Principal) -> Rows:
        """Return the audited calls of one run, in order; raises `Problem`."""
        await self.run(run_id, reader)
        there = self._access.is_there and is_storable(asked.step, asked.tool)
        return await self._access.store.trace(run_id, asked) if there else []


def _unrecorded(run: LiveRun) -> JsonObject:
    """Show a run that has just begun, or whose record could not be written."""
    failed = run.problem is not None
    result = run.result
    return {
        "run_id": run.run_id,
        "workflow": run.workflow,
        "schema_version": run.schema_version,
        "status": "failed" if failed else "running" if result is None else result["status"],
        "signal": None if result is None else result["signal"],
        "principal": run.principal.id,
        "tenant": run.principal.tenant,
        "started_at": run.started_at.isoformat(),
        "finished_at": None,
        "duration_ms": None if result is None else result["duration_ms"],
        "usage": None if result is None else result["usage"],
        "error": _error_of(run),
        "result": result,
        "conversations": [],
    }


def _error_of(run: LiveRun) -> JsonObject | None:
    if run.problem is not None:
        return {"type": run.problem.kind, "message": str(run.problem.detail), "step": None, "detail": {}}
    error = None if run.result is None else run.result["error"]
    return error if isinstance(error, dict) else None
