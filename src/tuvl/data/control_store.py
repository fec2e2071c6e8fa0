"""The part of the store of runs by which runs that go on are seen and controlled from other processes."""

import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TypeAlias, cast

from sqlalchemy import (
    ColumnElement,
    Row,
    RowMapping,
    Select,
    Table,
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

from tuvl.control import ControlAction
from tuvl.data.control_rows import DirectiveRow, LiveRow, Outcome, Settled
from tuvl.data.control_tables import directives, interventions, live_runs
from tuvl.data.lost_runs import SILENT_S
from tuvl.data.run_rows import InterventionRow
from tuvl.data.run_tables import runs
from tuvl.data.sealed_words import kept_words
from tuvl.principal import ANY, Principal
from tuvl.sealing import Keys

Transaction: TypeAlias = Callable[[], AbstractAsyncContextManager[AsyncConnection]]
Reading: TypeAlias = Callable[[Select[tuple[object, ...]]], Awaitable[Sequence[Row[tuple[object, ...]]]]]


FORGOTTEN_S = 7 * 24 * 3600.0
"""Seconds after which a run whose process died is taken off the list."""


class ControlStore:
    """Live runs, what they are told, and what was done to them. Every method raises `StepError` when it cannot."""

    def __init__(
        self, transaction: Transaction, rows: Reading, dialect: str, keys: Keys, *, running: str, queued: str
    ) -> None:
        """Wire it; `running` is the status of runs that go on, `queued` that of runs which nobody has."""
        self._running = running
        self._queued = queued
        self._keys = keys
        self._transaction = transaction
        self._rows = rows
        self._postgres = dialect == "postgresql"

    # ---- by the process that has the runs ------------------------------------------------------------------------

    async def beat(
        self, owner: str, *, begun: Sequence[LiveRow], ended: Collection[str], paused: Collection[str]
    ) -> None:
        """Say that a process is alive: which of its runs are new, which have ended, which are paused.

        What a run that has ended was told and never read is void from then on.
        """
        async with self._transaction() as connection:
            if ended:
                await connection.execute(
                    delete(live_runs).where(live_runs.c.run_id.in_(ended), live_runs.c.owner == owner)
                )
                await self._void(connection, directives.c.run_id.in_(ended))
            if begun:
                await self._forget(connection)
                # A run that another process had begun, and that goes on here, is this one's from now on.
                ids = [row.run_id for row in begun]
                await connection.execute(delete(live_runs).where(live_runs.c.run_id.in_(ids)))
                await connection.execute(insert(live_runs), [{**_live_values(row), "beat_at": 0.0} for row in begun])
            values = {"beat_at": self._now(), "paused": live_runs.c.run_id.in_(paused)}
            await connection.execute(update(live_runs).where(live_runs.c.owner == owner).values(values))

    async def unread(self, owner: str) -> list[tuple[int, DirectiveRow]]:
        """Return what the runs of a process were told and have not read yet, in order, with its number."""
        query = (
            select(directives)
            .join(live_runs, live_runs.c.run_id == directives.c.run_id)
            .where(live_runs.c.owner == owner, directives.c.outcome.is_(None))
            .order_by(directives.c.number)
        )
        return [(cast(int, row._mapping["number"]), _directive(row._mapping)) for row in await self._rows(query)]

    async def settle(
        self,
        number: int,
        outcome: Outcome,
        *,
        note: str | None,
        at: datetime,
        audit: InterventionRow | None,
        run_id: str,
    ) -> bool:
        """Keep what becomes of a directive, and where it is carried out now by whom it was given.

        Returns `False` when that was kept before.
        """
        values = {"outcome": outcome, "note": note, "settled_at": at}
        open_one = (directives.c.number == number) & directives.c.outcome.is_(None)
        async with self._transaction() as connection:
            settled = await connection.execute(update(directives).where(open_one).values(values))
            if settled.rowcount != 1:
                return False
            if audit is not None:
                await self._add_once(connection, interventions, self._audited(run_id, audit))
            return True

    async def intervention(self, run_id: str, row: InterventionRow) -> None:
        """Keep what was done to a run."""
        async with self._transaction() as connection:
            await self._add_once(connection, interventions, self._audited(run_id, row))

    # ---- by anybody ----------------------------------------------------------------------------------------------

    async def direct(self, row: DirectiveRow) -> None:
        """Keep what a run is told, for the process that has it; the same directive twice is one."""
        values = {
            "id": row.id,
            "run_id": row.run_id,
            "kind": row.kind,
            "message": row.message,
            "by": row.by,
            "at": row.at,
        }
        async with self._transaction() as connection:
            await self._add_once(connection, directives, values)

    async def settled(self, id: str) -> Settled | None:
        """Return what became of a directive; `None` when there is none of that id."""
        query = select(directives.c.outcome, directives.c.note).where(directives.c.id == id)
        rows = await self._rows(cast(Select[tuple[object, ...]], query))
        if not rows:
            return None
        found = rows[0]._mapping
        return Settled(outcome=found["outcome"], note=found["note"])

    async def live(self, reader: Principal, *, run_id: str | None = None) -> list[LiveRow]:
        """Return the runs on the list that the reader may see, the newest first; those of dead processes, too.

        What has ended or waits on record goes on nowhere, also where the process that had it never took it off.
        """
        query = select(live_runs, (self._now() - live_runs.c.beat_at).label("age_s"))
        query = query.where(~self._goes_on_nowhere, *_visible(reader)).order_by(
            live_runs.c.started_at.desc(), live_runs.c.run_id
        )
        if run_id is not None:
            query = query.where(live_runs.c.run_id == run_id)
        rows = await self._rows(cast(Select[tuple[object, ...]], query))
        return [_live(row._mapping) for row in rows]

    # ---- pieces --------------------------------------------------------------------------------------------------

    async def _forget(self, connection: AsyncConnection) -> None:
        """Take off the list what processes left there that died: of runs that ended elsewhere, or long ago."""
        ended = (live_runs.c.beat_at < self._now() - SILENT_S) & self._has_ended
        await self._void(connection, directives.c.run_id.in_(select(live_runs.c.run_id).where(ended)))
        await connection.execute(delete(live_runs).where(ended))
        # What nobody went on with for so long is no news to anybody any more.
        await connection.execute(delete(live_runs).where(live_runs.c.beat_at < self._now() - FORGOTTEN_S))

    async def _void(self, connection: AsyncConnection, of_runs: ColumnElement[bool]) -> None:
        """Keep of what runs were told and never read that nothing comes of it."""
        void = {"outcome": "void", "note": "the run ended before it was read"}
        await connection.execute(update(directives).where(of_runs, directives.c.outcome.is_(None)).values(void))

    @property
    def _has_ended(self) -> ColumnElement[bool]:
        there = runs.c.run_id == live_runs.c.run_id
        return exists().where(there, runs.c.status.not_in((self._running, self._queued)))

    @property
    def _goes_on_nowhere(self) -> ColumnElement[bool]:
        """Whether a run has ended or waits, or stands in the queue and is no longer that of a process that lives."""
        return self._has_ended | ((live_runs.c.beat_at < self._now() - SILENT_S) & self._is(self._queued))

    def _is(self, status: str) -> ColumnElement[bool]:
        return exists().where(runs.c.run_id == live_runs.c.run_id, runs.c.status == status)

    def _audited(self, run_id: str, row: InterventionRow) -> dict[str, object]:
        return _intervention_values(run_id, kept_words(run_id, row, self._keys))

    def _now(self) -> ColumnElement[float]:
        if self._postgres:
            return cast(ColumnElement[float], extract("epoch", func.clock_timestamp()))
        return literal(time.time())  # a file is read on the machine it is on

    async def _add_once(self, connection: AsyncConnection, table: Table, values: Mapping[str, object]) -> None:
        if self._postgres:
            await connection.execute(postgresql.insert(table).values(values).on_conflict_do_nothing())
        else:
            await connection.execute(sqlite.insert(table).values(values).on_conflict_do_nothing())


def _visible(reader: Principal) -> list[ColumnElement[bool]]:
    """Who has every scope sees every run, anybody else those of their tenant."""
    if ANY in reader.scopes:
        return []
    column = live_runs.c.tenant
    return [column.is_(None) if reader.tenant is None else column == reader.tenant]


def _live_values(row: LiveRow) -> dict[str, object]:
    return {
        "run_id": row.run_id,
        "workflow": row.workflow,
        "schema_version": row.schema_version,
        "principal": row.principal,
        "tenant": row.tenant,
        "started_at": row.started_at,
        "owner": row.owner,
        "paused": row.paused,
    }


def _live(found: RowMapping) -> LiveRow:
    return LiveRow(
        run_id=str(found["run_id"]),
        workflow=str(found["workflow"]),
        schema_version=str(found["schema_version"]),
        principal=str(found["principal"]),
        tenant=cast(str | None, found["tenant"]),
        started_at=cast(datetime, found["started_at"]),
        owner=str(found["owner"]),
        paused=bool(found["paused"]),
        age_s=max(0.0, float(cast(float, found["age_s"]))),
    )


def _directive(found: RowMapping) -> DirectiveRow:
    return DirectiveRow(
        id=str(found["id"]),
        run_id=str(found["run_id"]),
        kind=cast(ControlAction, found["kind"]),
        message=str(found["message"]),
        by=str(found["by"]),
        at=cast(datetime, found["at"]),
    )


def _intervention_values(run_id: str, row: InterventionRow) -> dict[str, object]:
    return {
        "id": row.id,
        "run_id": run_id,
        "at": row.at,
        "action": row.action,
        "source": row.source,
        "by": row.by,
        "reason": row.reason,
        "message": row.message,
        "step_id": row.step_id,
        "iteration": row.iteration,
    }
