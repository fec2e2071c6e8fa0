"""The table in which DBOS keeps the steps of workflows, as rows of our records are written to it and read from it.

A row takes one statement, which also asks whether the run is still its writer's; DBOS would take four, in a thread each
time. What stands here about the table is held by tests against what DBOS itself writes.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection

from tuvl.data.faults import is_of_value
from tuvl.dataclass import dataclass
from tuvl.durable.faults import RecordFailed, RecordRefused
from tuvl.durable.sqlite_file import BUSY_S, failed
from tuvl.durable.turns import turns_of
from tuvl.values import JsonObject

FORM = "portable_json"
"""How DBOS calls the writing that our rows are in."""

OF_ROW = (
    "workflow_uuid, function_id, function_name, output, started_at_epoch_ms, completed_at_epoch_ms, serialization, "
    "application_name, retention_timestamp"
)
"""The columns that DBOS fills for a step that came to an end; it leaves the others empty."""

_LOCK_S = 2
"""How long one run whose row somebody holds may keep the rows of others from being written, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRow:
    """One row, ready to be written; moments are milliseconds since 1970."""

    run_id: str
    owner: str
    """What marks the run as its writer's."""
    number: int
    name: str
    text: str
    began: int
    ended: int


def text_of(row: JsonObject) -> str:
    """Write a row as DBOS would."""
    text = json.dumps(row, separators=(",", ":"), ensure_ascii=False)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # half a character, which no database takes
            return json.dumps(row, separators=(",", ":"))
    return text


class RowTable(Protocol):
    """The table in one kind of database, over a connection that whoever asks has to himself."""

    def connect(self) -> DBAPIConnection:
        """Open a connection; raises `RecordFailed`, or what the driver raises."""
        ...

    def write(self, connection: DBAPIConnection, rows: Sequence[KeptRow]) -> set[tuple[str, int]]:
        """Write rows in one transaction; returns the runs and numbers of those that are written and on the disk.

        The others belong to runs that their writer has lost.
        """
        ...

    def lost_connection(self, error: Exception) -> bool:
        """Tell whether the same may go well over another connection."""
        ...

    def fault(self, error: Exception) -> RecordFailed:
        """Say why a row cannot be written."""
        ...


def row_table(engine: sa.Engine, schema: str | None, application: str) -> RowTable:
    """Return the table of a database; `application` is whose rows they are."""
    if engine.dialect.name == "postgresql":
        return _OnPostgres(engine, schema or "dbos", application)
    return _OnSqlite(engine, application)


class _OnSqlite:
    _WRITE = (
        f"INSERT INTO operation_outputs ({OF_ROW}) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ? "
        "WHERE EXISTS (SELECT 1 FROM workflow_status WHERE workflow_uuid = ? AND owner_xid = ?) ON CONFLICT DO NOTHING"
    )

    def __init__(self, engine: sa.Engine, application: str) -> None:
        self._engine = engine
        self._application = application

    def connect(self) -> DBAPIConnection:
        return _detached(self._engine)

    def write(self, connection: DBAPIConnection, rows: Sequence[KeptRow]) -> set[tuple[str, int]]:
        file = cast(sqlite3.Connection, connection)
        written = set()
        with turns_of(self._engine).one(BUSY_S):
            try:
                for row in rows:
                    about = (FORM, self._application, row.ended)
                    values = (row.run_id, row.number, row.name, row.text, row.began, row.ended, *about)
                    if file.execute(self._WRITE, (*values, row.run_id, row.owner)).rowcount == 1:
                        written.add((row.run_id, row.number))
                file.commit()
            except BaseException:
                file.rollback()
                raise
        return written

    def lost_connection(self, error: Exception) -> bool:
        return False

    def fault(self, error: Exception) -> RecordFailed:
        if isinstance(error, RecordFailed):
            return error
        if is_of_value(error):
            return RecordRefused(type(error).__name__)
        return failed(error) if isinstance(error, sqlite3.Error) else RecordFailed(type(error).__name__)


class _OnPostgres:
    def __init__(self, engine: sa.Engine, schema: str, application: str) -> None:
        self._engine = engine
        quoted = engine.dialect.identifier_preparer.quote_schema(schema)
        # Locked until the commit, so that nobody can take a run over between the question and the row. All in one
        # order, so that two processes do not wait for each other.
        self._write = f"""
            WITH given AS (
                SELECT * FROM unnest(
                    %s::text[], %s::int[], %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::text[]
                ) AS given (run, number, name, text, began, ended, owner)
            ), mine AS (
                SELECT workflow_uuid, owner_xid FROM {quoted}.workflow_status
                WHERE workflow_uuid = ANY (%s::text[]) AND owner_xid = ANY (%s::text[])
                ORDER BY workflow_uuid FOR NO KEY UPDATE
            )
            INSERT INTO {quoted}.operation_outputs ({OF_ROW})
            SELECT run, number, name, text, began, ended, '{FORM}', %s, (EXTRACT(epoch FROM now()) * 1000)::bigint
            FROM given JOIN mine ON mine.workflow_uuid = given.run AND mine.owner_xid = given.owner
            ON CONFLICT DO NOTHING RETURNING workflow_uuid, function_id"""
        self._there = f"""
            SELECT o.workflow_uuid, o.function_id FROM {quoted}.operation_outputs o
            JOIN {quoted}.workflow_status w ON w.workflow_uuid = o.workflow_uuid
            WHERE o.workflow_uuid = %s AND o.function_id = %s AND o.function_name = %s AND o.output = %s
            AND o.completed_at_epoch_ms = %s AND w.owner_xid = %s"""
        self._application = application

    def connect(self) -> DBAPIConnection:
        connection = cast(Any, _detached(self._engine))
        connection.autocommit = True
        connection.execute(f"SET lock_timeout = '{_LOCK_S}s'")
        return cast(DBAPIConnection, connection)

    def write(self, connection: DBAPIConnection, rows: Sequence[KeptRow]) -> set[tuple[str, int]]:
        driver = cast(Any, connection)
        runs, owners = [row.run_id for row in rows], [row.owner for row in rows]
        values = (
            runs,
            [row.number for row in rows],
            [row.name for row in rows],
            [row.text for row in rows],
            [row.began for row in rows],
            [row.ended for row in rows],
            owners,
            runs,
            owners,
            self._application,
        )
        written: set[tuple[str, int]] = set(driver.execute(self._write, values, prepare=True).fetchall())
        for row in rows:
            if (row.run_id, row.number) not in written:
                # It may be this very row, whose connection was lost when it was written.
                same = (row.run_id, row.number, row.name, row.text, row.ended, row.owner)
                written.update(driver.execute(self._there, same).fetchall())
        return written

    def lost_connection(self, error: Exception) -> bool:
        if is_of_value(error):
            return False
        dialect = self._engine.dialect
        if isinstance(error, sa.exc.DBAPIError):
            return isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError)
        driver = cast(Any, dialect.dbapi)
        return isinstance(error, (driver.OperationalError, driver.InterfaceError))

    def fault(self, error: Exception) -> RecordFailed:
        name = type(getattr(error, "orig", None) or error).__name__
        return RecordRefused(name) if is_of_value(error) else RecordFailed(name)


def _detached(engine: sa.Engine) -> DBAPIConnection:
    """Return a connection that is no longer the pool's: who has it closes it."""
    connection = engine.raw_connection()
    driver = connection.driver_connection
    connection.detach()
    if driver is None:
        raise RuntimeError("a connection without a driver")
    return cast(DBAPIConnection, driver)


def rows_of(
    engine: sa.Engine, schema: str | None, run_ids: Sequence[str]
) -> dict[str, tuple[int, dict[str, JsonObject]]]:
    """Return for each run the highest number taken, and its rows by their names, in order.

    A row in any other writing is none, and of it nothing is read: it may be code.
    """
    table = sa.table("operation_outputs", *(sa.column(name) for name in _READ), schema=schema)
    query = sa.select(table).where(table.c.workflow_uuid.in_(run_ids)).order_by(table.c.function_id)
    with engine.connect() as connection:
        found = connection.execute(query).all()
    highest = dict.fromkeys(run_ids, 0)
    rows: dict[str, dict[str, JsonObject]] = {run_id: {} for run_id in run_ids}
    for run_id, number, name, text, form in found:
        highest[run_id] = max(highest[run_id], number)
        rows[run_id][name] = cast(JsonObject, _parsed(text) if form == FORM else None)
    return {run_id: (highest[run_id], rows[run_id]) for run_id in run_ids}


def taken_by(engine: sa.Engine, schema: str | None, run_ids: Sequence[str]) -> dict[str, tuple[str | None, int]]:
    """Return for each run what marks whose it is, and how often it was taken off a queue."""
    columns = ("workflow_uuid", "owner_xid", "recovery_attempts")
    table = sa.table("workflow_status", *(sa.column(name) for name in columns), schema=schema)
    with engine.connect() as connection:
        found = connection.execute(sa.select(table).where(table.c.workflow_uuid.in_(run_ids))).all()
    taken: dict[str, tuple[str | None, int]] = dict.fromkeys(run_ids, (None, 0))
    return taken | {run_id: (owner, times or 0) for run_id, owner, times in found}


_READ = ("workflow_uuid", "function_id", "function_name", "output", "serialization")


def _parsed(text: object) -> Mapping[str, object] | None:
    try:
        return cast(Mapping[str, object], json.loads(text)) if isinstance(text, str) else None
    except ValueError:
        return None
