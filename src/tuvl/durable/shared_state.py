"""What processes know together of the runs on one database, and who of them has which.

A run is PENDING under the executor that performs it, and ENQUEUED on one of three kinds of queue otherwise: that of
runs which anybody may take, that of runs which wait for a person, and the private one of a process that is to take it.
Moves between these, and what makes a run move, are one transaction each; whoever moves a run has locked its row.

Everything here is synchronous and is called from threads.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from tuvl.durable.seal_state import ASIDE, lacking, unmarking
from tuvl.durable.shared_tables import PARKED, PRIVATE, QUEUE, WAITING, shared_tables
from tuvl.durable.transactions import FIRST_PAUSE_S, Transactions
from tuvl.durable.wait_rows import (
    AbortRow,
    WaitRow,
    abort_row,
    kept_answer,
    kept_reason,
    kept_wait,
    opened_wait,
    shown_wait,
)
from tuvl.sealing import Keys
from tuvl.values import JsonObject

TABLES_LOCK = 7_281_455
"""Key of the PostgreSQL lock under which tables are made."""

PENDING, ENQUEUED = "PENDING", "ENQUEUED"

DatabaseFault = sa.exc.SQLAlchemyError
"""What the database says when it cannot do something, or is not there."""

Told = tuple[list[WaitRow], AbortRow | None]
"""What a run has waited for, and whether it is to stop."""


class SharedState(Transactions):
    """The state of all runs on one database."""

    def __init__(
        self, engine: sa.Engine, schema: str | None, *, news: Callable[[], None], keys: Keys | None = None
    ) -> None:
        """Wire it; `news` is called when something was committed that processes may wait for.

        `keys` encrypt what people and runs say.
        """
        super().__init__(engine, schema, news=news)
        self.keys = keys or Keys()
        self.tables = tables = shared_tables(schema)
        """The tables that processes share; parts of the state of their own work on them, too."""
        self._metadata = tables.metadata
        self._waits, self._keys = tables.waits, tables.keys
        self._definitions, self._aborts = tables.definitions, tables.aborts
        self._workflows = tables.workflows

    @contextmanager
    def making_tables(self) -> Iterator[None]:
        """Have the right to make tables while the block runs: of processes that start at once, one at a time."""
        if self._engine.dialect.name != "postgresql":
            yield
            return
        with self._engine.connect() as connection:
            # Not waited for in the database: DBOS makes indexes in a way that waits for every statement under way.
            while not connection.execute(sa.text("SELECT pg_try_advisory_lock(:key)"), {"key": TABLES_LOCK}).scalar():
                connection.commit()
                time.sleep(FIRST_PAUSE_S)
            connection.commit()
            try:
                yield
            finally:
                connection.execute(sa.text("SELECT pg_advisory_unlock(:key)"), {"key": TABLES_LOCK})
                connection.commit()

    def make_tables(self) -> None:
        """Make the tables that are not there."""
        with self._engine.begin() as connection:
            if self._schema is not None:
                connection.execute(sa.schema.CreateSchema(self._schema, if_not_exists=True))
            self._metadata.create_all(connection)

    # ---- what runs are started with --------------------------------------------------------------------------------

    def claim_key(self, key: str, run_id: str) -> str:
        """Keep which run a key has started; returns the run of whoever was first."""

        def claim(connection: sa.Connection) -> str:
            connection.execute(self.insertion(self._keys, {"key": key, "run_id": run_id}))
            found = connection.execute(sa.select(self._keys.c.run_id).where(self._keys.c.key == key))
            return str(found.scalar_one())

        return self.in_transaction(claim)

    def run_of_key(self, key: str) -> str | None:
        """Return which run a key has started."""
        query = sa.select(self._keys.c.run_id).where(self._keys.c.key == key)
        return self.in_transaction(lambda connection: connection.execute(query).scalar())

    def keep_definition(self, digest: str, files: Mapping[str, bytes]) -> None:
        """Keep the files that a run is made of, once."""
        rows = [{"digest": digest, "path": path, "data": data} for path, data in sorted(files.items())]

        def keep(connection: sa.Connection) -> None:
            self._use(connection, digest)
            if connection.execute(self._of_definition(digest).limit(1)).first() is None:
                for row in rows:
                    connection.execute(self.insertion(self._definitions, row))

        self.in_transaction(keep)

    def still_used(self, digests: Iterable[str]) -> None:
        """Keep that definitions are of use at this time."""

        def use(connection: sa.Connection) -> None:
            for digest in sorted(digests):
                self._use(connection, digest)

        self.in_transaction(use)

    def _use(self, connection: sa.Connection, digest: str) -> None:
        # Before anybody asks whether the definition is there: who takes it away for being unused has to wait.
        uses, now = self.tables.uses, self.now(connection)
        changed = connection.execute(sa.update(uses).where(uses.c.digest == digest).values(last=now))
        if not changed.rowcount:
            connection.execute(self.insertion(uses, {"digest": digest, "first": now, "last": now}))

    def definition(self, digest: str) -> dict[str, bytes]:
        """Return the files of a definition; none when it is not kept."""
        found = self.in_transaction(lambda connection: connection.execute(self._of_definition(digest)).all())
        return {str(row.path): bytes(row.data) for row in found}

    def _of_definition(self, digest: str) -> sa.Select[Any]:
        table = self._definitions
        return sa.select(table.c.path, table.c.data).where(table.c.digest == digest)

    # ---- people ----------------------------------------------------------------------------------------------------

    def suspend(self, wait: WaitRow, *, owner: str) -> str | None:
        """Keep what a run waits for, and let go of it; returns its queue, `None` when this owner has lost it.

        Where it has been answered, or told to stop, in the meantime, the run goes on at once.
        """
        waits = self._waits

        def suspend(connection: sa.Connection) -> str | None:
            if not self._lock(connection, wait.run_id):
                return None
            unanswered = sa.and_(waits.c.run_id == wait.run_id, waits.c.answered_at.is_(None))
            connection.execute(sa.delete(waits).where(unanswered))
            connection.execute(self.insertion(waits, kept_wait(wait, self.keys)))
            asked = sa.select(waits.c.answered_at).where(*self._same(wait))
            answered = connection.execute(asked).scalar_one() is not None
            stopped = self.is_to_stop(connection, wait.run_id)
            if wait.deadline is not None:
                self.is_news(connection)
            queue = QUEUE if answered or stopped else WAITING
            mine = (self._workflows.c.workflow_uuid == wait.run_id, self._workflows.c.owner_xid == owner)
            return queue if self._requeue(connection, queue, *mine, self._workflows.c.status == PENDING) else None

        return self.in_transaction(suspend)

    def answer(self, wait: WaitRow, answer: JsonObject, *, by: str, at: float) -> bool:
        """Keep the answer to a wait, once, and let the run go on; `False` when it has one, or it comes too late."""
        waits = self._waits
        values = {"answer": kept_answer(wait, answer, self.keys), "answered_by": by, "answered_at": at}

        def answering(connection: sa.Connection) -> bool:
            self._lock(connection, wait.run_id)
            open_ = (*self._same(wait), waits.c.answered_at.is_(None), self._in_time(at))
            given = sa.update(waits).where(*open_).values(values)
            if connection.execute(given).rowcount != 1:
                # Unless it is this very answer, and the connection was lost when it was kept.
                mine = (*self._same(wait), waits.c.answered_by == by, waits.c.answered_at == at)
                return connection.execute(sa.select(waits.c.name).where(*mine)).first() is not None
            self.marked(connection, wait.run_id)
            self._wake(connection, wait.run_id)
            return True

        return self.in_transaction(answering)

    def waits_of(self, run_id: str, *, sealed: bool) -> list[WaitRow]:
        """Return everything that a run has waited for, the latest first; of one that is `sealed`, all has to be."""
        query = sa.select(self._waits).where(self._waits.c.run_id == run_id).order_by(self._waits.c.since.desc())
        return [opened_wait(row, self.keys, must=sealed) for row in self._wait_rows(query)]

    def told(self, run_ids: Sequence[str]) -> dict[str, Told]:
        """Return for each run everything that it has waited for, the latest first, and whether it is to stop.

        What it has waited for is as it is kept: see `opened_wait`.
        """
        waits, aborts = self._waits, self._aborts
        waited = sa.select(waits).where(waits.c.run_id.in_(run_ids)).order_by(waits.c.since.desc())
        ordered = sa.select(aborts).where(aborts.c.run_id.in_(run_ids))

        def look(connection: sa.Connection) -> tuple[list[WaitRow], dict[str, AbortRow]]:
            rows = [WaitRow(**row._mapping) for row in connection.execute(waited)]
            orders = {row.run_id: self._order(row) for row in connection.execute(ordered)}
            return rows, orders

        rows, orders = self.in_transaction(look)
        return {run_id: ([row for row in rows if row.run_id == run_id], orders.get(run_id)) for run_id in run_ids}

    def open_waits(self) -> list[WaitRow]:
        """Return what runs wait for, the oldest first."""
        query = sa.select(self._waits).where(self._waits.c.answered_at.is_(None)).order_by(self._waits.c.since)
        return [shown_wait(row, self.keys) for row in self._wait_rows(query)]

    def wake_overdue(self, now: float) -> list[str]:
        """Let runs go on whose time for an answer is over; returns which."""
        waits = self._waits
        query = sa.select(waits.c.run_id).where(waits.c.answered_at.is_(None), waits.c.deadline <= now)

        def wake(connection: sa.Connection) -> list[str]:
            overdue = [str(run_id) for (run_id,) in connection.execute(query)]
            return [run_id for run_id in overdue if self._wake(connection, run_id)]

        return self.in_transaction(wake)

    def next_due(self) -> float | None:
        """Return when the time for an answer is over next; moments are seconds since 1970."""
        query = sa.select(sa.func.min(self._waits.c.deadline)).where(self._waits.c.answered_at.is_(None))
        return self.in_transaction(lambda connection: connection.execute(query).scalar())

    def over(self, run_id: str) -> None:
        """Forget what a run that has ended was waiting for and told."""
        waits, aborts = self._waits, self._aborts

        def forget(connection: sa.Connection) -> None:
            connection.execute(sa.delete(waits).where(waits.c.run_id == run_id, waits.c.answered_at.is_(None)))
            connection.execute(sa.delete(aborts).where(aborts.c.run_id == run_id))

        self.in_transaction(forget)

    def _wait_rows(self, query: sa.Select[Any]) -> list[WaitRow]:
        found = self.in_transaction(lambda connection: connection.execute(query).all())
        return [WaitRow(**row._mapping) for row in found]

    def _same(self, wait: WaitRow) -> tuple[sa.ColumnElement[bool], ...]:
        waits = self._waits
        return (waits.c.run_id == wait.run_id, waits.c.name == wait.name, waits.c.digest == wait.digest)

    def _in_time(self, at: float) -> sa.ColumnElement[bool]:
        return sa.or_(self._waits.c.deadline.is_(None), self._waits.c.deadline > at)

    # ---- orders ----------------------------------------------------------------------------------------------------

    def abort(self, run_id: str, reason: str, *, by: str, at: float) -> None:
        """Keep that a run is to stop, and have somebody take it up for that when it waits."""
        values = {"run_id": run_id, "reason": kept_reason(run_id, reason, self.keys), "asked_by": by, "at": at}

        def order(connection: sa.Connection) -> None:
            self._lock(connection, run_id)
            connection.execute(self.insertion(self._aborts, values))
            self.marked(connection, run_id)
            self._wake(connection, run_id)
            self.is_news(connection)

        self.in_transaction(order)

    def aborts(self, run_ids: Iterable[str]) -> dict[str, AbortRow]:
        """Return which of these runs are to stop."""
        aborts = self._aborts
        query = sa.select(aborts).where(aborts.c.run_id.in_(list(run_ids)))
        found = self.in_transaction(lambda connection: connection.execute(query).all())
        return {row.run_id: self._order(row) for row in found}

    def is_to_stop(self, connection: sa.Connection, run_id: str) -> bool:
        """Tell whether somebody wants a run to stop; nobody can say so before the end of the transaction."""
        self._lock(connection, run_id)
        query = sa.select(self._aborts.c.run_id).where(self._aborts.c.run_id == run_id)
        return connection.execute(query).first() is not None

    def _order(self, row: sa.Row[Any]) -> AbortRow:
        return abort_row(row.run_id, row.reason, row.asked_by, self.keys)

    # ---- keys ------------------------------------------------------------------------------------------------------

    def mark(self, run_id: str) -> None:
        """Keep, before something of a run is kept, that it takes the key which encrypts here."""
        if self.keys:
            self.in_transaction(lambda connection: self.marked(connection, run_id))

    def lacks_key(self, run_id: str) -> bool:
        """Tell whether it takes a key which we do not have to go on with a run, or it was laid aside."""
        query = lacking(self.tables, run_id, self.keys)
        return self.in_transaction(lambda connection: connection.execute(query).first() is not None)

    def lay_aside(self, run_id: str, *, owner: str) -> None:
        """Let go of a run that cannot be opened though all its keys are here, so that nobody takes it."""

        def lay(connection: sa.Connection) -> None:
            connection.execute(self.insertion(self.tables.seals, {"run_id": run_id, "mark": ASIDE}))
            mine = (self._workflows.c.workflow_uuid == run_id, self._workflows.c.owner_xid == owner)
            self.move(connection, QUEUE, *mine, self._workflows.c.status == PENDING)

        self.in_transaction(lay)

    def all_opened(self, run_id: str) -> None:
        """Keep that our keys open all there is of a run, whatever it was marked with."""
        self.in_transaction(lambda connection: connection.execute(unmarking(self.tables, run_id, self.keys)))

    def marked(self, connection: sa.Connection, run_id: str) -> None:
        """Do so in a transaction."""
        if self.keys:
            connection.execute(self.insertion(self.tables.seals, {"run_id": run_id, "mark": self.keys.marks[0]}))

    # ---- who has which run -----------------------------------------------------------------------------------------

    def leave(self, run_id: str, *, owner: str) -> bool:
        """Let go of a run that is not over, so that another process takes it; `False` when this owner has lost it."""
        mine = (self._workflows.c.workflow_uuid == run_id, self._workflows.c.owner_xid == owner)
        return self._moved(QUEUE, *mine, self._workflows.c.status == PENDING) > 0

    def release(self, executor: str) -> int:
        """Let go of all that a process has, or is to take; returns how many runs. It must be gone, or ask itself."""
        table = self._workflows
        has = sa.and_(table.c.status == PENDING, table.c.executor_id == executor)
        to_take = sa.and_(table.c.status == ENQUEUED, table.c.queue_name == PRIVATE + executor)
        return self._moved(QUEUE, sa.or_(has, to_take))

    def take(self, run_id: str, executor: str, *, waiting: bool) -> bool:
        """Have a process take a run that nobody has; `False` when somebody has it, or it has ended.

        One that waits for somebody is only taken where `waiting` says so.
        """
        table = self._workflows
        at = [table.c.workflow_uuid == run_id, table.c.status == ENQUEUED]
        if not waiting:
            at.append(table.c.queue_name != WAITING)
        return self._moved(PRIVATE + executor, *at) > 0

    def settled(self, run_ids: Iterable[str]) -> set[str]:
        """Return which of these runs have ended, or wait for somebody."""
        table = self._workflows
        waits = sa.and_(table.c.status == ENQUEUED, table.c.queue_name == WAITING)
        query = sa.select(table.c.workflow_uuid).where(
            table.c.workflow_uuid.in_(list(run_ids)), sa.or_(waits, table.c.status.not_in((PENDING, ENQUEUED)))
        )
        return self.in_transaction(lambda connection: {str(run_id) for (run_id,) in connection.execute(query)})

    def owners(self) -> set[str]:
        """Return the processes that have runs, or are to take some."""
        table = self._workflows
        having = sa.select(table.c.executor_id).where(table.c.status == PENDING).distinct()
        private = table.c.queue_name.startswith(PRIVATE, autoescape=True)
        taking = sa.select(table.c.queue_name).where(table.c.status == ENQUEUED, private).distinct()

        def look(connection: sa.Connection) -> set[str]:
            found = {str(executor) for (executor,) in connection.execute(having)}
            return found | {str(name).removeprefix(PRIVATE) for (name,) in connection.execute(taking)}

        return self.in_transaction(look)

    def _lock(self, connection: sa.Connection, run_id: str) -> bool:
        """Keep others from moving a run for the rest of the transaction; `False` when there is none."""
        query = sa.select(self._workflows.c.workflow_uuid).where(self._workflows.c.workflow_uuid == run_id)
        return connection.execute(query.with_for_update()).first() is not None

    def _wake(self, connection: sa.Connection, run_id: str) -> bool:
        table = self._workflows
        waiting = (table.c.status == ENQUEUED, table.c.queue_name.in_((WAITING, PARKED)))
        return self._requeue(connection, QUEUE, table.c.workflow_uuid == run_id, *waiting)

    def _moved(self, queue: str, *where: sa.ColumnElement[bool]) -> int:
        return self.in_transaction(lambda connection: self.move(connection, queue, *where))

    def _requeue(self, connection: sa.Connection, queue: str, *where: sa.ColumnElement[bool]) -> bool:
        return self.move(connection, queue, *where) > 0

    def move(self, connection: sa.Connection, queue: str, *where: sa.ColumnElement[bool]) -> int:
        """Put runs on a queue, whoever has them; returns how many."""
        # As DBOS does it when it recovers a run: without an owner, what the former one still writes is refused.
        values = {
            "status": ENQUEUED,
            "queue_name": queue,
            "owner_xid": None,
            "started_at_epoch_ms": None,
            "updated_at": int(time.time() * 1000),
        }
        moved = connection.execute(sa.update(self._workflows).where(*where).values(values)).rowcount
        if moved and queue not in (WAITING, PARKED):
            self.is_news(connection)
        return moved
