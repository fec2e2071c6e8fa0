"""Beginnings and ends of runs in the store of runs: of those that come at the same time, one transaction is made."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TypeAlias

from sqlalchemy import bindparam, insert, update
from sqlalchemy.ext.asyncio import AsyncConnection

from tuvl.data.gathered import Gathered
from tuvl.data.run_rows import RunRow
from tuvl.data.run_tables import runs
from tuvl.values import JsonValue

Transaction: TypeAlias = Callable[[], AbstractAsyncContextManager[AsyncConnection]]

_ENDED = (
    update(runs)
    .where(runs.c.run_id == bindparam("ended_run"))
    .values({name: bindparam(name) for name in ("status", "signal", "finished_at", "result")})
)


def values_of(run: RunRow, status: str) -> dict[str, object]:
    """Return the row of a run that has not ended."""
    return {
        "run_id": run.run_id,
        "workflow": run.workflow,
        "schema_version": run.schema_version,
        "status": status,
        "principal": run.principal.id,
        "tenant": run.principal.tenant,
        "started_at": run.started_at,
    }


class RunMarks:
    """Writes both; every method raises what its transaction raises."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._beginnings, self._ends = Gathered(self._begin_all), Gathered(self._finish_all)

    async def begin(self, run: RunRow, status: str) -> None:
        """Keep that a run began."""
        await self._beginnings.put(values_of(run, status))

    async def finish(self, run_id: str, *, status: str, signal: str | None, at: datetime, result: JsonValue) -> None:
        """Keep how a run ended."""
        ended = {"ended_run": run_id, "status": status, "signal": signal, "finished_at": at, "result": result}
        await self._ends.put(ended)

    async def aclose(self) -> None:
        """Wait until what has come is written."""
        await self._beginnings.aclose()
        await self._ends.aclose()

    async def _begin_all(self, rows: Sequence[Mapping[str, object]]) -> None:
        async with self._transaction() as connection:
            await connection.execute(insert(runs), list(rows))

    async def _finish_all(self, rows: Sequence[Mapping[str, object]]) -> None:
        async with self._transaction() as connection:
            await connection.execute(_ENDED, list(rows))
