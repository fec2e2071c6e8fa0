"""Transactions on a database that processes share: done again where the connection is lost, and told of afterwards."""

import time
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

import sqlalchemy as sa

from tuvl.durable.postgres import lock_key

ATTEMPTS = 6
"""Attempts at a piece of work that loses its connection; the pauses between them grow to a few seconds in all."""

FIRST_PAUSE_S = 0.1

_NEWS = "tuvl_news"

T = TypeVar("T")


class Transactions:
    """Pieces of work on one database, each of which is one transaction."""

    def __init__(self, engine: sa.Engine, schema: str | None, *, news: Callable[[], None]) -> None:
        """Wire it; `news` is called when something was committed that processes may wait for."""
        self._engine = engine
        self._schema = schema
        self._news = news

    def in_transaction(self, work: Callable[[sa.Connection], T]) -> T:
        """Do work in a transaction, again where the connection is lost or another transaction was in the way.

        Each piece of work here comes to the same when it is done twice.
        """
        pause = FIRST_PAUSE_S
        for attempt in range(ATTEMPTS):
            try:
                with self._engine.begin() as connection:
                    connection.info.pop(_NEWS, None)
                    done = work(connection)
                    is_news = connection.info.pop(_NEWS, False)
                if is_news:
                    self._news()
                return done
            except (sa.exc.OperationalError, sa.exc.InterfaceError):
                if attempt == ATTEMPTS - 1:
                    raise
            time.sleep(pause)
            pause *= 2
        raise AssertionError("unreachable")

    def is_news(self, connection: sa.Connection) -> None:
        """Have others told, once this transaction is committed."""
        connection.info[_NEWS] = True

    def now(self, connection: sa.Connection) -> float:
        """Return the time of day by the database's clock, which is the same for all processes."""
        if self._engine.dialect.name != "postgresql":
            return time.time()  # one process has the file
        return float(connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())

    def lock_name(self, connection: sa.Connection, name: str) -> None:
        """Keep other processes from what goes by a name for the rest of the transaction."""
        if self._engine.dialect.name == "postgresql":
            key = lock_key(self._schema, name)
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})

    def insertion(self, table: sa.Table, values: Mapping[str, object]) -> sa.Insert:
        """Return an insertion that leaves a row alone which is there."""
        if self._engine.dialect.name == "postgresql":
            from sqlalchemy.dialects.postgresql import insert as to_postgres

            return cast(sa.Insert, to_postgres(table).values(values).on_conflict_do_nothing())
        from sqlalchemy.dialects.sqlite import insert as to_sqlite

        return cast(sa.Insert, to_sqlite(table).values(values).on_conflict_do_nothing())
