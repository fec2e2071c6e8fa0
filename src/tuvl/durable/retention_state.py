"""Durable runs on one database that ended long ago, and definitions that no run needs any more: how they are forgotten.

All of a run is taken away, in every table, in one transaction that has locked it: what DBOS keeps of it, and what
processes share. What a run was forked into has the entries that it began with in itself, and needs nothing of it.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager

import sqlalchemy as sa

from tuvl.durable.definitions import APART_S
from tuvl.durable.postgres import open_postgres
from tuvl.durable.shared_state import SharedState
from tuvl.durable.shared_tables import SCHEMA
from tuvl.durable.sqlite_file import open_sqlite

ENDED = ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")
"""How DBOS calls runs that go on nowhere any more."""

_OF_DBOS = ("workflow_input", "workflow_output", "operation_outputs")
"""Its tables that do not refer to that of runs, though their rows belong to one."""


class RetentionState:
    """Finds them, and takes them away; synchronous, for threads. Moments are seconds since 1970."""

    def __init__(self, state: SharedState, engine: sa.Engine, schema: str | None) -> None:
        self._state = state
        self._workflows = state.tables.workflows
        there = set(sa.inspect(engine).get_table_names(schema))
        self.is_there = "workflow_status" in there
        """Whether there ever was a durable run here."""
        mine = (table for table in state.tables.metadata.sorted_tables if table.name in there)
        self._of_runs = [table for table in mine if "run_id" in table.c]
        self._has_uses = state.tables.uses.name in there
        self._of_dbos = [sa.table(name, sa.column("workflow_uuid"), schema=schema) for name in _OF_DBOS]

    @classmethod
    def on_postgres(cls, url: sa.URL) -> "AbstractContextManager[Look]":
        """Have a way to a database that many processes share."""
        return _way(open_postgres(url), SCHEMA)

    @classmethod
    def on_file(cls, path: str) -> "AbstractContextManager[Look]":
        """Have a way to the file of a host, who may have it open, too."""
        return _way(open_sqlite(path), None)

    def kept(self, run_ids: Collection[str], *, before: float) -> set[str]:
        """Return which of these runs go on, wait, or did not end before a moment."""
        table = self._workflows
        query = sa.select(table.c.workflow_uuid).where(table.c.workflow_uuid.in_(run_ids), ~self._old(before))
        return self._state.in_transaction(lambda connection: {str(row[0]) for row in connection.execute(query)})

    def ended(self, *, before: float, after: str, limit: int) -> list[str]:
        """Return some of the runs that ended before a moment, in the order of their ids."""
        table = self._workflows
        query = sa.select(table.c.workflow_uuid).where(self._old(before), table.c.workflow_uuid > after)
        query = query.order_by(table.c.workflow_uuid).limit(limit)
        return self._state.in_transaction(lambda connection: [str(row[0]) for row in connection.execute(query)])

    def forget(self, run_ids: Collection[str], *, before: float) -> set[str]:
        """Take runs away that ended before a moment; returns those of the others that are still there."""
        table = self._workflows
        query = sa.select(table.c.workflow_uuid).where(table.c.workflow_uuid.in_(run_ids))
        old = query.where(self._old(before)).with_for_update(skip_locked=True)

        def forget(connection: sa.Connection) -> set[str]:
            ids = [str(row[0]) for row in connection.execute(old)]
            for of_dbos in self._of_dbos:
                connection.execute(sa.delete(of_dbos).where(of_dbos.c.workflow_uuid.in_(ids)))
            for of_runs in self._of_runs:
                connection.execute(sa.delete(of_runs).where(of_runs.c.run_id.in_(ids)))
            connection.execute(sa.delete(table).where(table.c.workflow_uuid.in_(ids)))
            return {str(row[0]) for row in connection.execute(query)}

        return self._state.in_transaction(forget)

    def oldest(self) -> float | None:
        """Return when the oldest run was begun that is still there."""
        query = sa.select(sa.func.min(self._workflows.c.created_at))
        found = self._state.in_transaction(lambda connection: connection.execute(query).scalar())
        return None if found is None else float(found) / 1000

    def forget_definitions(self, *, unused_since: float, dry_run: bool) -> int:
        """Take definitions away that were not of use since a moment, nor when any run began that is still there.

        Returns how many there are of them.
        """
        if not self._has_uses:
            return 0
        uses, kept = self._state.tables.uses, self._state.tables.definitions
        begun = self._workflows.c.created_at / 1000.0
        needed = sa.exists(
            sa.select(self._workflows.c.workflow_uuid)
            .where(begun >= uses.c.first - APART_S, begun <= uses.c.last + APART_S)
            .correlate(uses)
        )
        unused = (uses.c.last < unused_since, ~needed)
        unknown = sa.select(kept.c.digest).where(kept.c.digest.not_in(sa.select(uses.c.digest))).distinct()

        def forget(connection: sa.Connection) -> int:
            if dry_run:
                return int(connection.execute(sa.select(sa.func.count()).select_from(uses).where(*unused)).scalar_one())
            now = self._state.now(connection)
            for (digest,) in connection.execute(unknown).all():  # of an earlier tuvl, which kept no times
                connection.execute(self._state.insertion(uses, {"digest": digest, "first": 0.0, "last": now}))
            gone = [row[0] for row in connection.execute(sa.delete(uses).where(*unused).returning(uses.c.digest))]
            connection.execute(sa.delete(kept).where(kept.c.digest.in_(gone)))
            return len(gone)

        return self._state.in_transaction(forget)

    def _old(self, before: float) -> sa.ColumnElement[bool]:
        table = self._workflows
        return sa.and_(table.c.status.in_(ENDED), table.c.updated_at < int(before * 1000))


Look = Callable[[], RetentionState | None]
"""Connects, in a thread; `None` where there never was a durable run."""


@contextmanager
def _way(engine: sa.Engine, schema: str | None) -> Iterator[Look]:
    def look() -> RetentionState | None:
        state = RetentionState(SharedState(engine, schema, news=lambda: None), engine, schema)
        return state if state.is_there else None

    try:
        yield look
    finally:
        engine.dispose()
