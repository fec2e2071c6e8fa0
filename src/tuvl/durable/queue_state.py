"""Which runs there are in the database of durable runs, to be compared with those that the list of runs has."""

from collections.abc import Collection
from pathlib import Path

import sqlalchemy as sa

from tuvl.durable.faults import RecordFailed
from tuvl.durable.postgres import open_postgres
from tuvl.durable.shared_state import ENQUEUED, SharedState
from tuvl.durable.shared_tables import SCHEMA, WAITING, SharedTables, shared_tables
from tuvl.durable.sqlite_file import open_sqlite


class QueueState:
    """What is on the queues of one database."""

    def __init__(self, state: SharedState) -> None:
        self._state = state

    def known(self, run_ids: Collection[str]) -> set[str]:
        """Return which of these runs there are; of the others no place in a line is left."""
        line = self._state.tables.line

        def look(connection: sa.Connection) -> set[str]:
            known = _known(connection, self._state.tables, run_ids)
            connection.execute(sa.delete(line).where(line.c.run_id.in_(set(run_ids) - known)))
            return known

        return self._state.in_transaction(look)

    def queued(self, *, after: str, limit: int) -> list[str]:
        """Return some of the runs that no process has, but for those that wait for somebody, in order of their ids."""
        table = self._state.tables.workflows
        query = sa.select(table.c.workflow_uuid).where(
            table.c.status == ENQUEUED, table.c.queue_name != WAITING, table.c.workflow_uuid > after
        )
        query = query.order_by(table.c.workflow_uuid).limit(limit)
        return self._state.in_transaction(lambda connection: [str(run_id) for (run_id,) in connection.execute(query)])


def known_on(url: sa.URL, run_ids: Collection[str]) -> Collection[str]:
    """Return which of these runs there are on a PostgreSQL; all of them where that cannot be told."""
    try:
        return _known_in(open_postgres(url), shared_tables(SCHEMA), run_ids)
    except ModuleNotFoundError:
        return run_ids


def known_in(file: Path, run_ids: Collection[str]) -> Collection[str]:
    """Return which of these runs there are in a file; all of them where that cannot be told."""
    return _known_in(open_sqlite(str(file)), shared_tables(None), run_ids) if file.exists() else run_ids


def _known_in(engine: sa.Engine, tables: SharedTables, run_ids: Collection[str]) -> Collection[str]:
    try:
        with engine.connect() as connection:
            return _known(connection, tables, run_ids)
    except (sa.exc.SQLAlchemyError, RecordFailed):
        return run_ids
    finally:
        engine.dispose()


def _known(connection: sa.Connection, tables: SharedTables, run_ids: Collection[str]) -> set[str]:
    table = tables.workflows
    query = sa.select(table.c.workflow_uuid).where(table.c.workflow_uuid.in_(list(run_ids)))
    return {str(run_id) for (run_id,) in connection.execute(query)}
