"""Runs that last no longer than their process, and what is said of them when that has died without a word."""

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TypeAlias, cast

from sqlalchemy import (
    ColumnElement,
    Insert,
    Row,
    Select,
    bindparam,
    delete,
    exists,
    extract,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from tuvl.data.control_tables import live_runs, passing_runs
from tuvl.data.run_rows import LostRun, RunRow, values_of
from tuvl.data.run_tables import runs
from tuvl.values import JsonObject, JsonValue

Transaction: TypeAlias = Callable[[], AbstractAsyncContextManager[AsyncConnection]]
Reading: TypeAlias = Callable[[Select[tuple[object, ...]]], Awaitable[Sequence[Row[tuple[object, ...]]]]]

SILENT_S = 15.0
"""Seconds without a sign of life after which a process is taken for dead; it gives one every two seconds."""


class LostRunStore:
    """Finds runs whose process has died, and ends or lists them. Every method raises `StepError` when it cannot."""

    def __init__(self, transaction: Transaction, rows: Reading, dialect: str, *, running: str, queued: str) -> None:
        """Wire it; `running` is the status of runs that go on, `queued` that of runs which nobody has taken."""
        self._transaction = transaction
        self._rows = rows
        self._dialect = dialect
        self._running = running
        self._queued = queued

    async def found(self, silent_s: float = SILENT_S) -> list[LostRun]:
        """Return the runs on record as going on, and that no process has shown as alive for so many seconds."""
        silent = now(self._dialect) - silent_s
        seen = exists().where(live_runs.c.run_id == runs.c.run_id, live_runs.c.beat_at > silent)
        query = (
            select(runs.c.run_id, runs.c.workflow, runs.c.schema_version, runs.c.started_at)
            .join(passing_runs, passing_runs.c.run_id == runs.c.run_id)
            .where(runs.c.status == self._running, passing_runs.c.at < silent, ~seen)
        )
        return [_lost(row) for row in await self._rows(cast(Select[tuple[object, ...]], query))]

    async def queued(self, *, before: datetime, after: str, limit: int) -> list[LostRun]:
        """Return runs on record as queued since before a moment, by their ids, from one of these on."""
        query = (
            select(runs.c.run_id, runs.c.workflow, runs.c.schema_version, runs.c.started_at)
            .where(runs.c.status == self._queued, runs.c.started_at < before, runs.c.run_id > after)
            .order_by(runs.c.run_id)
            .limit(limit)
        )
        return [_lost(row) for row in await self._rows(cast(Select[tuple[object, ...]], query))]

    async def add(self, run: RunRow, *, status: str, signal: str | None, at: datetime, result: JsonValue) -> None:
        """Keep a run that has ended, or waits, and of which nothing is kept; one that is known stays as it is."""
        ended = {"signal": signal, "finished_at": at, "result": result}
        new = (postgresql if self._dialect == "postgresql" else sqlite).insert(runs)
        async with self._transaction() as connection:
            await connection.execute(new.on_conflict_do_nothing(), [values_of(run, status) | ended])

    async def end(self, run_id: str, *, at: datetime, result: JsonObject) -> bool:
        """Keep that a run failed, unless somebody has ended it meanwhile; returns whether that was news.

        It is taken off the list of live runs, where its process leaves it.
        """
        values = {"status": "failed", "signal": None, "finished_at": at, "result": result}
        going_on = (runs.c.run_id == run_id) & runs.c.status.in_((self._running, self._queued))
        async with self._transaction() as connection:
            changed = await connection.execute(update(runs).where(going_on).values(values))
            await connection.execute(delete(live_runs).where(live_runs.c.run_id == run_id))
            return changed.rowcount == 1

    async def forget_ended(self) -> None:
        """Look no more at runs that have ended."""
        going_on = select(runs.c.run_id).where(runs.c.status == self._running)
        async with self._transaction() as connection:
            await connection.execute(delete(passing_runs).where(passing_runs.c.run_id.not_in(going_on)))


def _lost(row: Row[tuple[object, ...]]) -> LostRun:
    return LostRun(
        run_id=str(row._mapping["run_id"]),
        workflow=str(row._mapping["workflow"]),
        schema_version=str(row._mapping["schema_version"]),
        started_at=cast(datetime, row._mapping["started_at"]),
    )


def passing(dialect: str) -> Insert:
    """Return the statement that keeps that a run lasts no longer than its process; it takes a `run_id`."""
    return insert(passing_runs).values(run_id=bindparam("run_id"), at=now(dialect))


def now(dialect: str) -> ColumnElement[float]:
    """Return the seconds since 1970, by the clock of the database's server."""
    if dialect == "postgresql":
        return cast(ColumnElement[float], extract("epoch", func.clock_timestamp()))
    return literal(time.time())  # a file is read on the machine it is on
