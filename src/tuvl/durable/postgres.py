"""The engine of a PostgreSQL that holds durable runs: a synchronous one, which is what DBOS works with."""

from hashlib import sha256

import sqlalchemy as sa

from tuvl.data.binding import bind_storable

DRIVER = "postgresql+psycopg"
CONNECTIONS, MORE_CONNECTIONS = 10, 10
"""Connections that a process keeps, and how many more it opens for a while."""

_ALIVE = {
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "connect_timeout": 10,
    "application_name": "tuvl",
}
"""A server that is gone is noticed within seconds."""


def open_postgres(url: sa.URL) -> sa.Engine:
    """Return an engine; nothing is connected yet. `url` is as the store of runs has it, with another driver."""
    query = dict(url.query)
    if "ssl" in query:  # so that one URL serves both drivers
        query["sslmode"] = query.pop("ssl")
    engine = sa.create_engine(
        url.set(drivername=DRIVER, query=query),
        connect_args=_ALIVE,
        pool_size=CONNECTIONS,
        max_overflow=MORE_CONNECTIONS,
        pool_pre_ping=True,
        hide_parameters=True,
    )
    bind_storable(engine)
    return engine


def lock_key(schema: str | None, name: str) -> int:
    """Return the key of the advisory lock of a name, that of a process or of what it works on."""
    return int.from_bytes(sha256(f"{schema}/{name}".encode()).digest()[:8], "big", signed=True)
