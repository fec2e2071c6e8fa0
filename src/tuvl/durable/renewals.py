"""Which definition a run goes on with, said from outside of it: an entry of its record, while nobody performs it.

Whoever takes the run afterwards finds the entry; whoever has it does not lose it. That nothing came between is seen
under the lock of the run's row: by who has it, and by the number of its last entry.
"""

import time
from collections.abc import Collection, Mapping
from typing import Literal
from uuid import uuid4

import sqlalchemy as sa

from tuvl.durable.backend import APPLICATION
from tuvl.durable.definitions import DEFINITION
from tuvl.durable.entries import entries_of
from tuvl.durable.postgres import lock_key
from tuvl.durable.queued import SharedRuns
from tuvl.durable.row_table import FORM, OF_ROW, rows_of, text_of
from tuvl.durable.rows import row_of
from tuvl.durable.shared_state import ENQUEUED, PENDING
from tuvl.durable.shared_tables import PARKED, QUEUE, WAITING
from tuvl.durable.wait_rows import WaitRow, kept_wait
from tuvl.values import JsonObject

Renewed = Literal["renewed", "performed", "ended", "gone_on", "answered"]
"""What became of it: done; or a process has the run, it has ended, there is more on record than was looked at, or
somebody has answered what the definition asks otherwise."""


class Renewals:
    """Gives runs of one database another definition."""

    def __init__(self, runs: SharedRuns) -> None:
        self._runs = runs
        self._state = runs.state
        self._entries = sa.table("operation_outputs", *map(sa.column, OF_ROW.split(", ")), schema=runs.schema)

    def record(self, run_id: str, *, sealed: bool) -> tuple[int, dict[str, JsonObject]]:
        """Return the number of the last entry of a run, and its entries in order."""
        last, rows = rows_of(self._runs.engine, self._runs.schema, [run_id])[run_id]
        return last, entries_of(self._runs.keys.of(run_id), run_id, rows, highest=last, must=sealed).rows

    def standing(self, run_id: str) -> Renewed | None:
        """Return what is in the way of giving a run another definition; `None` when nothing is."""
        return self._state.in_transaction(lambda connection: self._in_the_way(connection, run_id))

    def renew(
        self, run_id: str, definition: str, *, at: float, after: int, known: Collection[str], asks: WaitRow | None
    ) -> Renewed:
        """Have a run go on with a definition, if `after` is still the number of its last entry.

        `at` is the moment of the run, in seconds; `known` are the names of its entries. One that waits for somebody is
        put on the queue: it is asked anew. From then on the question is the one that the definition `asks`, and no
        answer to another one counts; where that is `None`, it has none before the run asks.
        """
        name = f"{DEFINITION}#{uuid4().hex[:8]}"
        self._state.mark(run_id)
        entry = self._runs.keys.of(run_id).sealed(name, row_of(definition, at), number=after + 1)

        def renew(connection: sa.Connection) -> Renewed:
            refused = self._in_the_way(connection, run_id)
            if refused is not None:
                return refused
            number, of = self._last(connection, run_id)
            if of == name:
                return "renewed"  # by ourselves, and the connection was lost when that was kept
            if number != after:
                return "gone_on"
            if self._is_answered(connection, run_id, known, asks):
                return "answered"
            self._ask(connection, run_id, asks)
            connection.execute(sa.insert(self._entries).values(self._values(run_id, after + 1, name, entry)))
            self._need(connection, run_id, definition)
            self._free(connection, run_id)
            return "renewed"

        return self._state.in_transaction(renew)

    def _in_the_way(self, connection: sa.Connection, run_id: str) -> Renewed | None:
        table = self._state.tables.workflows
        query = sa.select(table.c.status, table.c.executor_id).where(table.c.workflow_uuid == run_id)
        found = connection.execute(query.with_for_update()).one()
        if found.status == ENQUEUED:
            return None
        if found.status != PENDING:
            return "ended"
        return None if self._is_gone(connection, str(found.executor_id)) else "performed"

    def _is_gone(self, connection: sa.Connection, executor: str) -> bool:
        """Tell whether a process is gone, which has a lock as long as it is there."""
        if connection.dialect.name != "postgresql":
            return False  # only one process has the file: ours
        key = lock_key(self._runs.schema, executor)
        return bool(connection.execute(sa.text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": key}).scalar())

    def _last(self, connection: sa.Connection, run_id: str) -> tuple[int, str]:
        """Return number and name of the last entry; 0 for a run without any."""
        entries = self._entries
        query = sa.select(entries.c.function_id, entries.c.function_name).where(entries.c.workflow_uuid == run_id)
        found = connection.execute(query.order_by(entries.c.function_id.desc()).limit(1)).first()
        return (0, "") if found is None else (int(found.function_id), str(found.function_name))

    def _is_answered(
        self, connection: sa.Connection, run_id: str, known: Collection[str], asks: WaitRow | None
    ) -> bool:
        """Tell whether a run goes on with an answer that is not on its record yet, and would count for nothing."""
        waits, table = self._state.tables.waits, self._state.tables.workflows
        queue = sa.select(table.c.queue_name).where(table.c.workflow_uuid == run_id)
        if connection.execute(queue).scalar() == WAITING:
            return False
        query = sa.select(waits.c.name).where(
            waits.c.run_id == run_id, waits.c.answered_at.is_not(None), _is_other(waits, asks)
        )
        return any(name not in known for (name,) in connection.execute(query))

    def _ask(self, connection: sa.Connection, run_id: str, asks: WaitRow | None) -> None:
        """Have what is asked of people be what the definition asks, where anything is."""
        waits = self._state.tables.waits
        others = sa.delete(waits).where(waits.c.run_id == run_id, waits.c.answered_at.is_(None), _is_other(waits, asks))
        if connection.execute(others).rowcount and asks is not None:
            connection.execute(self._state.insertion(waits, kept_wait(asks, self._runs.keys)))

    def _values(self, run_id: str, number: int, name: str, entry: JsonObject) -> Mapping[str, object]:
        now = int(time.time() * 1000)
        values = (run_id, number, name, text_of(entry), now, now, FORM, APPLICATION, now)
        return dict(zip(OF_ROW.split(", "), values, strict=True))

    def _need(self, connection: sa.Connection, run_id: str, definition: str) -> None:
        """Keep that a definition is needed by a run which began before there was that definition."""
        table, uses = self._state.tables.workflows, self._state.tables.uses
        query = sa.select(table.c.created_at).where(table.c.workflow_uuid == run_id)
        begun = connection.execute(query).scalar_one() / 1000.0
        later = (uses.c.digest == definition, uses.c.first > begun)
        connection.execute(sa.update(uses).where(*later).values(first=begun))

    def _free(self, connection: sa.Connection, run_id: str) -> None:
        """Have a run taken anew that waits, stands in line, or was left by a process that is gone."""
        table, line = self._state.tables.workflows, self._state.tables.line
        # How many of its workflow go on at once, it finds out anew; its place in line is by when it was started.
        connection.execute(sa.delete(line).where(line.c.run_id == run_id))
        left = sa.or_(table.c.status == PENDING, table.c.queue_name.in_((WAITING, PARKED)))
        self._state.move(connection, QUEUE, table.c.workflow_uuid == run_id, left)


def _is_other(waits: sa.Table, asks: WaitRow | None) -> sa.ColumnElement[bool]:
    """Return the condition of a question that a definition does not ask.

    What became of work that was in flight is asked by each that the record leaves: it is what it was begun as.
    """
    other = waits.c.kind != "outcome_unknown"
    if asks is None:
        return other
    return sa.and_(other, sa.or_(waits.c.name != asks.name, waits.c.digest != asks.digest))
