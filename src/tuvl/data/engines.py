"""One SQLAlchemy engine for each database, with transactions that begin when they say so."""

import importlib.util
from pathlib import Path

from sqlalchemy import Connection, event
from sqlalchemy.engine import URL
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from tuvl.data.location import OWN_FOLDER, POSTGRES
from tuvl.data.values import decimal_key
from tuvl.errors import ConfigError
from tuvl.spec.data import Pooling

WRITES = "tuvl_writes"
"""Execution option of a connection whose transaction will write."""

BUSY_TIMEOUT_S = 30.0
"""How long a SQLite transaction waits for another one that writes, in seconds."""

DECIMAL_KEY = "tuvl_decimal_key"
"""SQL function that makes SQLite compare decimals exactly."""


def open_engine(url: URL, pooling: Pooling) -> AsyncEngine:
    """Return an engine; nothing is connected yet. Raises `ConfigError` for a driver that is not installed."""
    if url.drivername == POSTGRES:
        if importlib.util.find_spec("asyncpg") is None:
            raise ConfigError("PostgreSQL needs the package 'asyncpg'; install tuvl with the extra: tuvl[postgres]")
        return create_async_engine(url, pool_pre_ping=True, **_pool(pooling))
    engine = create_async_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S}, **_pool(pooling))
    own = url.database is not None and Path(url.database).parent.name == OWN_FOLDER
    _prepare_sqlite(engine, own=own)
    return engine


def _pool(pooling: Pooling) -> dict[str, float | int]:
    return {
        "pool_size": pooling.size,
        "max_overflow": pooling.max_overflow,
        "pool_timeout": pooling.timeout_s,
        "pool_recycle": -1 if pooling.recycle_s is None else int(pooling.recycle_s),
    }


def _prepare_sqlite(engine: AsyncEngine, *, own: bool) -> None:
    """Make SQLite keep foreign keys, compare decimals, and begin transactions where SQLAlchemy does.

    Python's driver begins one only at the first write, and a transaction that reads before it writes may then find
    the file changed under it. One that is going to write therefore takes the write lock at once.
    """

    @event.listens_for(engine.sync_engine, "connect")
    def on_connect(connection: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # no implicit BEGIN
        connection.create_function(DECIMAL_KEY, 1, decimal_key, deterministic=True)
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys=ON")
        if own:  # a file of somebody else keeps the journal mode it has
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def on_begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
