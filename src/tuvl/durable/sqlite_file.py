"""The SQLite file of a record: how it is opened, and what its faults are called.

A file that another program holds is waited for, for a while, and then the run stops where it is. DBOS would wait
without end, and recognises such a fault by its words: so it gets one of ours.
"""

import sqlite3

import sqlalchemy as sa
from sqlalchemy.engine import ExceptionContext

from tuvl.durable.faults import RecordFailed
from tuvl.durable.turns import write_in_turns

BUSY_S = 30.0
"""How long a write waits for another program that holds the file, in seconds."""

_FAULTS = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "its file or its folder is read-only",
    "SQLITE_CANTOPEN": "its file cannot be opened",
    "SQLITE_IOERR": "the disk reports an error, as a full one may",
    "SQLITE_CORRUPT": "its file is damaged",
    "SQLITE_NOTADB": "its file is no database",
}


class SqliteFault(RecordFailed, sa.exc.SQLAlchemyError):
    """What SQLite says of a file: to a run of its own that its record failed, to a host that its database did."""


def open_sqlite(path: str) -> sa.Engine:
    """Return the engine of a record's file, in which each write is on the disk before the run goes on.

    Its faults are `SqliteFault`, whoever meets them.
    """
    engine = sa.create_engine(sa.URL.create("sqlite", database=path), hide_parameters=True)

    @sa.event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, record: object) -> None:
        connection.isolation_level = "IMMEDIATE"
        try:
            for pragma in (
                f"busy_timeout={int(BUSY_S * 1000)}",
                "journal_mode=WAL",
                "synchronous=FULL",
                "foreign_keys=ON",
            ):
                connection.execute(f"PRAGMA {pragma}")
        except sqlite3.Error as error:
            raise failed(error) from None

    @sa.event.listens_for(engine, "handle_error")
    def on_error(context: ExceptionContext) -> None:
        error = context.original_exception
        # What a constraint says is part of how DBOS works.
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.IntegrityError):
            raise failed(error) from error

    write_in_turns(engine, timeout_s=BUSY_S)
    return engine


def failed(error: sqlite3.Error) -> SqliteFault:
    """Say why a file cannot be read or written."""
    name = str(getattr(error, "sqlite_errorname", None) or type(error).__name__)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return SqliteFault(f"another program has held its file for more than {BUSY_S:g} s")
    known = next((words for code, words in _FAULTS.items() if name.startswith(code)), None)
    return SqliteFault(known or f"its file does not hold what it should ({name})")
