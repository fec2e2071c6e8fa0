"""Beginnings and ends of runs in the store of runs: of those that come at the same time, one transaction is made."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TypeAlias

from sqlalchemy import Insert, Update, bindparam, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from tuvl.data.gathered import Gathered
from tuvl.data.lost_runs import passing
from tuvl.data.run_rows import RunRow, values_of
from tuvl.data.run_tables import runs
from tuvl.values import JsonValue

Transaction: TypeAlias = Callable[[], AbstractAsyncContextManager[AsyncConnection]]

_PASSING = "passing"

SUSPENDED = "suspended"
"""Status of a run that waits for somebody."""

_ENDED = (
    update(runs)
    .where(runs.c.run_id == bindparam("ended_run"))
    .values({name: bindparam(name) for name in ("status", "signal", "finished_at", "result")})
)


class RunMarks:
    """Writes both; every method raises what its transaction raises."""

    def __init__(self, transaction: Transaction, dialect: str) -> None:
        self._transaction = transaction
        new = (postgresql if dialect == "postgresql" else sqlite).insert(runs)
        again = {"status": new.excluded.status, "signal": None, "finished_at": None}
        self._queued = self._gathered(new.on_conflict_do_nothing())
        self._begun = Gathered(self._begin_all)
        self._passing = passing(dialect)
        self._reopened = self._gathered(new.on_conflict_do_update(index_elements=[runs.c.run_id], set_=again))
        self._ended = self._gathered(_ENDED)

    async def queue(self, run: RunRow, status: str) -> None:
        """Keep that a run is to begin; one that is known stays as it is."""
        await self._queued.put(values_of(run, status))

    async def begin(self, run: RunRow, status: str) -> None:
        """Keep that a run began."""
        await self._begun.put({**values_of(run, status), _PASSING: run.passing})

    async def suspended_since(self, run_id: str) -> datetime | None:
        """Return since when a run waits for somebody; `None` for one that does not."""
        query = select(runs.c.finished_at).where(runs.c.run_id == run_id, runs.c.status == SUSPENDED)
        async with self._transaction() as connection:
            return (await connection.execute(query)).scalar()

    async def requeue(self, run_id: str, status: str, *, was: str, since: datetime | None) -> None:
        """Keep that a run goes on as soon as a process takes it, if its status is what it was, and `since` when.

        Each time that a run is suspended has a moment of its own.
        """
        still = [runs.c.run_id == run_id, runs.c.status == was]
        if since is not None:
            still.append(runs.c.finished_at == since)
        async with self._transaction() as connection:
            query = update(runs).where(*still).values(status=status, signal=None, finished_at=None)
            await connection.execute(query)

    async def reopen(self, run: RunRow, status: str) -> None:
        """Keep that a run goes on which began before, and that it began where even that is not kept."""
        await self._reopened.put(values_of(run, status))

    async def finish(self, run_id: str, *, status: str, signal: str | None, at: datetime, result: JsonValue) -> None:
        """Keep how a run ended."""
        ended = {"ended_run": run_id, "status": status, "signal": signal, "finished_at": at, "result": result}
        await self._ended.put(ended)

    async def aclose(self) -> None:
        """Wait until what has come is written."""
        for gathered in (self._queued, self._begun, self._reopened, self._ended):
            await gathered.aclose()

    async def _begin_all(self, rows: Sequence[Mapping[str, object]]) -> None:
        begun = [{name: value for name, value in row.items() if name != _PASSING} for row in rows]
        passes = [{"run_id": row["run_id"]} for row in rows if row[_PASSING]]
        async with self._transaction() as connection:
            await connection.execute(insert(runs), begun)
            if passes:
                await connection.execute(self._passing, passes)

    def _gathered(self, statement: Insert | Update) -> Gathered:
        async def write(rows: Sequence[Mapping[str, object]]) -> None:
            async with self._transaction() as connection:
                await connection.execute(statement, list(rows))

        return Gathered(write)
