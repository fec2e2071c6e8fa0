"""The part of the store of runs that forgets runs which ended long ago: all of a run, in every table."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TypeAlias, cast

from sqlalchemy import ColumnElement, Row, Select, Table, and_, delete, exists, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from tuvl.data.access_tables import access_metadata
from tuvl.data.control_tables import control_metadata
from tuvl.data.event_tables import event_metadata
from tuvl.data.run_tables import messages, metadata, runs
from tuvl.dataclass import dataclass

Transaction: TypeAlias = Callable[[], AbstractAsyncContextManager[AsyncConnection]]
Reading: TypeAlias = Callable[[Select[tuple[object, ...]]], Awaitable[Sequence[Row[tuple[object, ...]]]]]

ENDED = ("completed", "failed", "aborted")
"""Status of a run that goes on nowhere any more; one that waits for somebody is `suspended`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OldRuns:
    """Runs that may be forgotten."""

    before: datetime
    """They ended before this moment."""
    status: str | None = None
    workflow: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OldRun:
    """One of them."""

    run_id: str
    finished_at: datetime


class RetentionStore:
    """Finds such runs, and takes them away. Every method raises `StepError` when it cannot."""

    def __init__(self, transaction: Transaction, rows: Reading) -> None:
        self._transaction = transaction
        self._rows = rows

    async def ended(self, asked: OldRuns, *, after: OldRun | None, limit: int) -> list[OldRun]:
        """Return some of these runs, the oldest first, from one of them on.

        A conversation is kept whole as long as a run takes part in it that has not ended, or ended later.
        """
        query = select(runs.c.run_id, runs.c.finished_at).where(*_old(asked)).limit(limit)
        if after is not None:
            same = and_(runs.c.finished_at == after.finished_at, runs.c.run_id > after.run_id)
            query = query.where(or_(runs.c.finished_at > after.finished_at, same))
        found = await self._rows(cast(Select[tuple[object, ...]], query.order_by(runs.c.finished_at, runs.c.run_id)))
        return [OldRun(run_id=str(row._mapping["run_id"]), finished_at=row._mapping["finished_at"]) for row in found]

    async def known(self, run_ids: Collection[str]) -> set[str]:
        """Return which of these runs there are."""
        query = select(runs.c.run_id).where(runs.c.run_id.in_(run_ids))
        return {str(row[0]) for row in await self._rows(cast(Select[tuple[object, ...]], query))}

    async def forget(self, run_ids: Collection[str], asked: OldRuns) -> set[str]:
        """Take runs away that are still such as are asked for, in one transaction; returns which."""
        query = select(runs.c.run_id).where(runs.c.run_id.in_(run_ids), *_old(asked))
        async with self._transaction() as connection:
            found = await connection.execute(query.with_for_update(skip_locked=True, of=runs))
            old = {str(run_id) for (run_id,) in found}
            for table in _tables():
                await connection.execute(delete(table).where(table.c.run_id.in_(old)))
            return old


def _tables() -> Iterator[Table]:
    """Yield every table with rows of runs, those first that refer to others."""
    for each in (control_metadata, access_metadata, event_metadata, metadata):
        yield from (table for table in reversed(each.sorted_tables) if "run_id" in table.c)


def _old(asked: OldRuns) -> list[ColumnElement[bool]]:
    wanted = [runs.c.status.in_(ENDED), runs.c.finished_at < asked.before, ~_in_use(asked.before)]
    if asked.status is not None:
        wanted.append(runs.c.status == asked.status)
    if asked.workflow is not None:
        wanted.append(runs.c.workflow == asked.workflow)
    return wanted


def _in_use(before: datetime) -> ColumnElement[bool]:
    """Whether a conversation of a run goes on in another one."""
    own, others, other_runs = messages.alias("own"), messages.alias("others"), runs.alias("other_runs")
    late = or_(
        other_runs.c.status.not_in(ENDED), other_runs.c.finished_at.is_(None), other_runs.c.finished_at >= before
    )
    return exists(
        select(own.c.number)
        .join(others, others.c.conversation == own.c.conversation)
        .join(other_runs, other_runs.c.run_id == others.c.run_id)
        .where(own.c.run_id == runs.c.run_id, own.c.conversation.is_not(None), late)
        .correlate(runs)
    )
