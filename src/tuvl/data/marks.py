"""Marks of what durable runs have written, in the same transaction as the data: it took place when its mark is there.

A process that dies between the commit and the record of a run leaves a mark, and the run that goes on finds it. The
table is made where the database lets us; elsewhere there are no marks, and a person is asked.
"""

from datetime import UTC, datetime
from typing import cast

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    MetaData,
    String,
    Table,
    delete,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from tuvl.data.engines import WRITES
from tuvl.data.faults import step_error
from tuvl.data.step_session import StepSession
from tuvl.data.tables import NAMES, UtcMoment, json_type
from tuvl.values import JsonValue

effects = Table(
    "tuvl_effects",
    MetaData(naming_convention=NAMES),
    Column("run_id", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("at", UtcMoment, nullable=False),
    Column("outcome", json_type()),
)
"""One row for each write of a run that goes on; those of a run that has ended are taken away."""

_MARK = f"table {effects.name!r}"


async def can_mark(engine: AsyncEngine, lock: int) -> bool:
    """Tell whether marks can be kept in a database, and make their table; `lock` keeps two from making it at once."""
    writing = engine.execution_options(**{WRITES: True})
    try:
        async with writing.begin() as connection:
            if connection.dialect.name == "postgresql":
                await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": lock})
            await connection.run_sync(_make)
        async with writing.connect() as connection:
            probe = {"run_id": "", "name": "", "at": datetime.now(UTC)}
            await connection.execute(insert(effects).values(probe))
            await connection.rollback()
    except DBAPIError:
        return False  # what keeps us from it, a missing right most often, is no fault of the run
    return True


def _make(connection: Connection) -> None:
    if not inspect(connection).has_table(effects.name):
        effects.create(connection)


async def claim(session: StepSession, run_id: str, name: str) -> tuple[JsonValue] | None:
    """Mark a write that is about to take place; returns its outcome when it has taken place before.

    Another transaction that makes the same mark is waited for.
    """
    dialect = session.get_bind().dialect.name
    made = (postgresql if dialect == "postgresql" else sqlite).insert(effects)
    values = {"run_id": run_id, "name": name, "at": datetime.now(UTC)}
    try:
        result = await session.execute(made.values(values).on_conflict_do_nothing().returning(effects.c.name))
        if result.first() is not None:
            return None
        found = await session.execute(select(effects.c.outcome).where(*_one(run_id, name)))
    except DBAPIError as error:
        raise step_error(error, what=_MARK) from error
    return (cast(JsonValue, found.scalar_one()),)


async def keep_outcome(session: StepSession, run_id: str, name: str, outcome: JsonValue) -> None:
    """Keep what the write gave, in its transaction."""
    try:
        await session.execute(update(effects).where(*_one(run_id, name)).values(outcome=outcome))
    except DBAPIError as error:
        raise step_error(error, what=_MARK) from error


async def has_marks(engine: AsyncEngine) -> bool:
    """Tell whether a database has the table of marks."""
    async with engine.connect() as connection:
        return await connection.run_sync(lambda made: inspect(made).has_table(effects.name))


async def forget(engine: AsyncEngine, run_id: str) -> None:
    """Take the marks of a run away, whose own record holds how each write ended."""
    async with engine.execution_options(**{WRITES: True}).begin() as connection:
        await connection.execute(delete(effects).where(effects.c.run_id == run_id))


def _one(run_id: str, name: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return effects.c.run_id == run_id, effects.c.name == name
