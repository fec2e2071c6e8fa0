"""One SQLAlchemy engine for each database, with transactions that begin when they say so."""

import asyncio
import importlib.util
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Dialect, event
from sqlalchemy.engine import URL
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from tuvl.data.location import OWN_FOLDER, POSTGRES
from tuvl.data.reaching import Reached, unreachable
from tuvl.data.values import decimal_key
from tuvl.dataclass import dataclass
from tuvl.errors import ConfigError
from tuvl.files import make_own_database
from tuvl.spec.data import Pooling
from tuvl.values import JsonValue

WRITES = "tuvl_writes"
"""Execution option of a connection whose transaction will write."""

DURABLE = "tuvl_durable"
"""Execution option of a connection whose writes a durable record will hold for done: no loss of power may take them."""

BUSY_TIMEOUT_S = 30.0
"""How long a SQLite transaction waits for another one that writes, in seconds."""

DECIMAL_KEY = "tuvl_decimal_key"
"""SQL function that makes SQLite compare decimals exactly."""


_SYNCHRONOUS = "tuvl_synchronous"
"""What a connection is set to, in its notes."""

LAST_WORDS_S = 1.0
"""How long the threads of connections that are closed may take to end, in seconds."""

LEAST_LOOKS = 10
"""How often it is looked, at least, whether they have."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An engine, to be closed in the event loop it was used in."""

    engine: AsyncEngine
    _workers: "set[threading.Thread]" = field(default_factory=set)

    async def aclose(self) -> None:
        """Close every connection, and wait for the threads that SQLite's were on.

        They report to the event loop as their last act, and would complain aloud of one that is closed by then.
        """
        await self.engine.dispose()
        loop = asyncio.get_running_loop()
        until, looks = loop.time() + LAST_WORDS_S, 0
        # A thread tells nobody that it has ended, and gets on no more than this one while the process is stopped.
        while any(worker.is_alive() for worker in self._workers) and (loop.time() < until or looks < LEAST_LOOKS):
            looks += 1
            await asyncio.sleep(0.002)
        self._workers.clear()


def open_engine(
    url: URL, pooling: Pooling, reached: Reached, *, as_json: Callable[[JsonValue], str] | None = None
) -> Opened:
    """Return an engine; nothing is connected yet. Raises `ConfigError` for a driver that is not installed.

    A connection that cannot be opened is a `StepError`, whoever asks for it; `reached` is what that calls the database.
    `as_json` writes the values of JSON columns.
    """
    if url.drivername == POSTGRES:
        if importlib.util.find_spec("asyncpg") is None:
            needs = "PostgreSQL needs the package 'asyncpg'; install tuvl with the extra: tuvl[postgres]"
            raise ConfigError(f"{reached.what}: {needs}")
        engine = create_async_engine(
            url, pool_pre_ping=True, hide_parameters=True, json_serializer=as_json, **_pool(pooling)
        )
        _connect(engine, url, reached)
        return Opened(engine)
    workers, changing = set[threading.Thread](), threading.Lock()

    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        with changing:
            # Connections of busy times come and go, and each had a thread of its own.
            workers.difference_update([worker for worker in workers if not worker.is_alive()])
            workers.add(threading.current_thread())
        if _is_own(url):
            with suppress(OSError):  # SQLite says why it cannot be made
                make_own_database(Path(url.database or ""))
        return sqlite3.Connection(*args, **options)

    arguments = {"timeout": BUSY_TIMEOUT_S, "factory": connect}
    engine = create_async_engine(
        url, connect_args=arguments, hide_parameters=True, json_serializer=as_json, **_pool(pooling)
    )
    _connect_sqlite(engine, url, reached)
    return Opened(engine, workers)


def _pool(pooling: Pooling) -> dict[str, float | int]:
    return {
        "pool_size": pooling.size,
        "max_overflow": pooling.max_overflow,
        "pool_timeout": pooling.timeout_s,
        "pool_recycle": -1 if pooling.recycle_s is None else int(pooling.recycle_s),
    }


def _connect_sqlite(engine: AsyncEngine, url: URL, reached: Reached) -> None:
    """Make SQLite keep foreign keys, compare decimals, and begin transactions where SQLAlchemy does.

    Python's driver begins one only at the first write, and a transaction that reads before it writes may then find
    the file changed under it. One that is going to write therefore takes the write lock at once.
    """
    own = _is_own(url)

    def prepare(connection: DBAPIConnection) -> None:
        connection.isolation_level = None  # no implicit BEGIN
        connection.create_function(DECIMAL_KEY, 1, decimal_key, deterministic=True)
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys=ON")
        if own:  # a file of somebody else keeps the journal mode it has
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.execute("PRAGMA schema_version")  # reads the file: one that is no database is found out here
        cursor.close()

    _connect(engine, url, reached, prepare)

    @event.listens_for(engine.sync_engine, "begin")
    def on_begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        writes = options.get(WRITES, False)
        wanted = "FULL" if options.get(DURABLE, False) else "NORMAL"
        if own and writes and connection.info.get(_SYNCHRONOUS, "NORMAL") != wanted:
            connection.exec_driver_sql(f"PRAGMA synchronous={wanted}")  # says nothing inside of a transaction
            connection.info[_SYNCHRONOUS] = wanted
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _is_own(url: URL) -> bool:
    return Path(url.database or "").parent.name == OWN_FOLDER


def _connect(
    engine: AsyncEngine, url: URL, reached: Reached, prepare: Callable[[DBAPIConnection], None] | None = None
) -> None:
    """Open each connection of an engine, and prepare it; whatever a driver says when it cannot is put in our words."""

    @event.listens_for(engine.sync_engine, "do_connect")
    def do_connect(
        dialect: Dialect, entry: ConnectionPoolEntry, arguments: list[Any], options: dict[str, Any]
    ) -> DBAPIConnection:
        try:
            connection = dialect.connect(*arguments, **options)
        except Exception as error:
            raise unreachable(error, url, reached) from error
        if prepare is None:
            return connection
        try:
            prepare(connection)
        except BaseException as error:
            connection.close()
            if isinstance(error, sqlite3.Error):
                raise unreachable(error, url, reached) from error
            raise
        return connection
