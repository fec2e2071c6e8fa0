"""Runs of a workflow of which only so many may go on at once: who goes on, who waits, and who is next.

A run stands in line from when it is started until it has ended or waits for a person. It has a place as long as its
process has it: of a process that died, nothing has to be given back. One that a process takes before it is its turn is
parked, and put back on the queue when there is a place, by whoever sees that first. The order is that in which runs
were started; a run that one process is to perform, since somebody waits there for it, only needs a free place.
"""

from typing import Any

import sqlalchemy as sa

from tuvl.durable.shared_state import ENQUEUED, PENDING, SharedState
from tuvl.durable.shared_tables import PARKED, PRIVATE, QUEUE, WAITING


class LineState:
    """The lines of all workflows on one database."""

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._line, self._workflows = state.tables.line, state.tables.workflows
        line, table = self._line, self._workflows
        self._goes_on = sa.and_(table.c.status == PENDING, line.c.owner.is_not(None), table.c.owner_xid == line.c.owner)
        unplaced = sa.or_(line.c.owner.is_(None), table.c.owner_xid != line.c.owner)
        self._waits = sa.or_(
            sa.and_(table.c.status == PENDING, unplaced),
            sa.and_(table.c.status == ENQUEUED, table.c.queue_name != WAITING),
        )

    def stand(self, run_id: str, workflow: str, most: int, connection: sa.Connection) -> None:
        """Put a run in line, in the transaction that puts it on the queue."""
        values = {"run_id": run_id, "workflow": workflow, "most": most, "owner": None}
        connection.execute(self._state.insertion(self._line, values))

    def enter(self, run_id: str, workflow: str, *, most: int, owner: str) -> bool:
        """Let a run go on that its owner has taken, or park it: `False`, when `most` others go on or are before it.

        One that is to stop is not parked, but put back on the queue: whoever takes it next sees that it is to stop.
        """
        line, table = self._line, self._workflows

        def enter(connection: sa.Connection) -> bool:
            self._state.lock_name(connection, f"line of {workflow}")
            values = {"run_id": run_id, "workflow": workflow, "most": most, "owner": None}
            connection.execute(self._state.insertion(line, values))
            own = sa.select(table.c.created_at, table.c.queue_name).where(table.c.workflow_uuid == run_id)
            mine = connection.execute(own).one()
            others = self._count(connection, workflow, self._goes_on, line.c.run_id != run_id)
            if not str(mine.queue_name).startswith(PRIVATE):
                earlier = sa.or_(
                    table.c.created_at < mine.created_at,
                    sa.and_(table.c.created_at == mine.created_at, line.c.run_id < run_id),
                )
                others += self._count(connection, workflow, self._waits, earlier)
            if others < most:
                has_place = sa.update(line).where(line.c.run_id == run_id)
                connection.execute(has_place.values(owner=owner, most=most))
                return True
            taken = (table.c.workflow_uuid == run_id, table.c.status == PENDING, table.c.owner_xid == owner)
            queue = QUEUE if self._state.is_to_stop(connection, run_id) else PARKED
            self._state.move(connection, queue, *taken)
            return False

        return self._state.in_transaction(enter)

    def leave(self, run_id: str, workflow: str) -> None:
        """Take a run out of the line, and let the next one go on."""

        def leave(connection: sa.Connection) -> None:
            self._state.lock_name(connection, f"line of {workflow}")
            connection.execute(sa.delete(self._line).where(self._line.c.run_id == run_id))
            self._call_next(connection, workflow)

        self._state.in_transaction(leave)

    def call_next(self) -> None:
        """Let go on whose turn it is, in all lines: a process that had others of the line may be gone."""
        line, table = self._line, self._workflows
        parked = (table.c.status == ENQUEUED, table.c.queue_name == PARKED)
        ended = self._of_lines(line.c.run_id).where(table.c.status.not_in((PENDING, ENQUEUED)))

        def call(connection: sa.Connection) -> None:
            lines = connection.execute(self._of_lines(line.c.workflow).where(*parked).distinct())
            for workflow in sorted(str(name) for (name,) in lines):
                self._state.lock_name(connection, f"line of {workflow}")
                connection.execute(sa.delete(line).where(line.c.workflow == workflow, line.c.run_id.in_(ended)))
                self._call_next(connection, workflow)

        self._state.in_transaction(call)

    def _call_next(self, connection: sa.Connection, workflow: str) -> None:
        """Put those of a line back on the queue who have a place by now; those who are on it have theirs."""
        line, table = self._line, self._workflows
        waiting = (
            self._of_lines(line.c.run_id, line.c.most, table.c.queue_name)
            .where(line.c.workflow == workflow, self._waits)
            .order_by(table.c.created_at, line.c.run_id)
        )
        taken = self._count(connection, workflow, self._goes_on)
        for row in connection.execute(waiting.limit(_MOST_CALLED)).all():
            if taken >= row.most:
                return
            if row.queue_name == PARKED:
                parked = (table.c.workflow_uuid == row.run_id, table.c.status == ENQUEUED)
                self._state.move(connection, QUEUE, *parked, table.c.queue_name == PARKED)
            taken += 1

    def _count(self, connection: sa.Connection, workflow: str, *where: sa.ColumnElement[bool]) -> int:
        query = self._of_lines(sa.func.count()).where(self._line.c.workflow == workflow, *where)
        return int(connection.execute(query).scalar_one())

    def _of_lines(self, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
        line, table = self._line, self._workflows
        return sa.select(*columns).select_from(line.join(table, table.c.workflow_uuid == line.c.run_id))


_MOST_CALLED = 100
"""Runs of one line that are put back on the queue at a time."""
