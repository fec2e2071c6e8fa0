"""What a durable record costs: one of its rows beside the same row in a plain journal.

The plain journal is one that an application writes for itself: a look for the row, the row, a commit of its own, over
aiosqlite; once as SQLAlchemy does it, which is what the store of an application is made of, and once with nothing
between the statements and the driver.
"""

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import aiosqlite
import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from benchmarks.measure import RUNS, Figure
from tuvl.durable.backend import Backend, DbosRows
from tuvl.values import JsonObject

ROWS = 40
"""Rows in a row, of one kind and then of the other, so that a busy moment of the disk is one for both."""

ROW: JsonObject = {"v": 1, "t": 1.0, "value": {"outcome": {"signal": "default", "delta": {"text": "y" * 200}}}}

Put = Callable[[str], Awaitable[None]]


def figures(folder: Path) -> list[Figure]:
    """Measure the rows."""
    folder.mkdir(parents=True, exist_ok=True)
    ours, mapped, bare = (statistics.median(taken) for taken in asyncio.run(_measure(folder)))
    return [
        Figure(name="one row of a durable record (WAL, FULL)", value=ours * 1000, unit="ms"),
        Figure(name="one row of a plain journal (SQLAlchemy, aiosqlite, WAL, FULL)", value=mapped * 1000, unit="ms"),
        Figure(name="the first against the second", value=ours / mapped, unit="×", limit=1.3),
        Figure(name="one row of a plain journal (aiosqlite alone, WAL, FULL)", value=bare * 1000, unit="ms"),
        Figure(name="the first against that", value=ours / bare, unit="×", limit=1.3),
    ]


async def _measure(folder: Path) -> tuple[list[float], list[float], list[float]]:
    ours: list[float] = []
    mapped: list[float] = []
    bare: list[float] = []

    async def body(run_id: str, payload: JsonObject, rows: DbosRows, found: Mapping[str, JsonObject]) -> JsonObject:
        engine = create_async_engine(f"sqlite+aiosqlite:///{folder / 'mapped.sqlite'}")
        async with aiosqlite.connect(folder / "bare.sqlite", isolation_level=None) as database:
            by_mapping, by_hand = await _by_mapping(engine), await _by_hand(database)
            for turn in range(RUNS + 1):
                for put, taken in ((lambda name: rows.put(name, ROW), ours), (by_mapping, mapped), (by_hand, bare)):
                    taken.append(await _each(put, turn))
        await engine.dispose()
        return {}

    backend = Backend.on_file(str(folder / "durable.sqlite"), body)
    backend.open()
    await backend.start("measured", {})
    backend.close()
    return ours[1:], mapped[1:], bare[1:]


async def _each(put: Put, turn: int) -> float:
    begun = time.perf_counter()
    for number in range(ROWS):
        await put(f"step#{turn}-{number}/end")
    return (time.perf_counter() - begun) / ROWS


_TABLE = sa.Table(
    "rows",
    sa.MetaData(),
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text),
    sa.Column("output", sa.Text),
)


async def _by_mapping(engine: AsyncEngine) -> Put:
    @sa.event.listens_for(engine.sync_engine, "connect")
    def connected(connection: DBAPIConnection, record: object) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.close()

    async with engine.begin() as connection:
        await connection.run_sync(_TABLE.metadata.create_all)
    numbers = iter(range(1_000_000))

    async def put(name: str) -> None:
        number = next(numbers)
        async with engine.begin() as connection:
            there = (_TABLE.c.run == "r") & (_TABLE.c.number == number)
            (await connection.execute(sa.select(_TABLE.c.output).where(there))).first()
            await connection.execute(_TABLE.insert().values(run="r", number=number, name=name, output=json.dumps(ROW)))

    return put


async def _by_hand(database: aiosqlite.Connection) -> Put:
    statements: Sequence[str] = (
        "PRAGMA journal_mode=WAL",
        "PRAGMA synchronous=FULL",
        "CREATE TABLE rows (run TEXT, number INTEGER, name TEXT, output TEXT, PRIMARY KEY (run, number))",
    )
    for statement in statements:
        await database.execute(statement)
    numbers = iter(range(1_000_000))

    async def put(name: str) -> None:
        number = next(numbers)
        await database.execute("BEGIN IMMEDIATE")
        async with database.execute("SELECT output FROM rows WHERE run = ? AND number = ?", ("r", number)) as found:
            await found.fetchone()
        await database.execute("INSERT INTO rows VALUES (?, ?, ?, ?)", ("r", number, name, json.dumps(ROW)))
        await database.execute("COMMIT")

    return put
