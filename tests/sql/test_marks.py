"""Marks of writes in durable runs, on both databases: two that make the same one, and a user who may make no table."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.durable.test_record import Rows
from tests.durable.test_told import Dying, Killed
from tests.sql.conftest import Database
from tests.sql.records_support import Records, add
from tuvl.data.engines import open_engine
from tuvl.data.location import source_url
from tuvl.data.marks import can_mark, claim, forget, keep_outcome
from tuvl.data.model import SourcePlan
from tuvl.data.reaching import Reached
from tuvl.data.step_session import open_session
from tuvl.durable.record import DurableJournal
from tuvl.engine.result import RunResult
from tuvl.spec.data import DataSourceSpec, Pooling

LOCK = 77


@asynccontextmanager
async def opened(database: Database) -> AsyncIterator[AsyncEngine]:
    spec = DataSourceSpec.model_validate({"type": database.type, "connection": database.connection})
    source = SourcePlan(name="main", root=".", spec=spec)
    found = open_engine(source_url(source, {}), Pooling(), Reached(what="it", elsewhere="elsewhere"))
    try:
        yield found.engine
    finally:
        await found.aclose()


@pytest.mark.parametrize("ends", ["committed", "undone"])
async def test_a_mark_waits_for_another_transaction_that_makes_the_same_one(ends, database: Database) -> None:
    """A process was lost while its commit was under way: whoever goes on waits for what becomes of that."""
    async with opened(database) as engine:
        assert await can_mark(engine, LOCK)
        assert await can_mark(engine, LOCK), "asked twice, its table is there"
        first, second = open_session(engine, writes=True), open_session(engine, writes=True)
        assert await claim(first, "r1", "a#1/") is None
        await keep_outcome(first, "r1", "a#1/", {"id": 1})
        waiting = asyncio.ensure_future(claim(second, "r1", "a#1/"))
        done, _ = await asyncio.wait((waiting,), timeout=0.05)
        assert not done
        if ends == "committed":
            await first.finish()
        await first.discard()
        assert await waiting == (({"id": 1},) if ends == "committed" else None)
        await second.finish()
        await second.discard()
        other = open_session(engine, writes=True)
        assert await claim(other, "r2", "a#1/") is None, "the mark is that of a run"
        await other.finish()
        await other.discard()
        await forget(engine, "r1")
        async with engine.connect() as connection:
            left = (await connection.execute(text("SELECT run_id FROM tuvl_effects"))).scalars().all()
            await connection.rollback()
        assert left == ["r2"]


async def test_where_no_table_may_be_made_there_are_no_marks(postgres_url: str) -> None:
    async with opened(Database("postgresql", postgres_url)) as engine:

        @event.listens_for(engine.sync_engine, "begin")
        def only_read(connection: Connection) -> None:
            connection.exec_driver_sql("SET TRANSACTION READ ONLY")

        assert not await can_mark(engine, LOCK)


async def performed(project: Records, rows: Rows) -> RunResult:
    engine = project.engine()
    try:
        journal = DurableJournal(rows, dict(rows.kept), again=bool(rows.kept))
        return await engine.run(project.plan(), {}, journal=journal, run_id="r1")
    finally:
        await engine.aclose()


@pytest.mark.parametrize("point", ["after add#1/end!1", "before add#1/end"])
async def test_a_write_takes_place_once_on_either_database(point, database: Database, tmp_path: Path) -> None:
    project = Records(tmp_path, database).customers()
    project.steps(add("add", email="ann@example.org"))
    rows = Dying({}, point)
    with pytest.raises(Killed):
        await performed(project, rows)
    rows.point = ""
    result = await performed(project, rows)
    assert result.status == "completed", result.error
    async with opened(database) as engine, engine.connect() as connection:
        count = (await connection.execute(text("SELECT count(*) FROM customers"))).scalar_one()
        marks = (await connection.execute(text("SELECT count(*) FROM tuvl_effects"))).scalar_one()
        await connection.rollback()
    assert (count, marks) == (1, 0)
