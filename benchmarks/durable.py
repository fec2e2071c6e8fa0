"""What a durable record costs: one of its rows beside one row that is written by hand."""

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import aiosqlite

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
    ours, plain = asyncio.run(_measure(folder))
    row, by_hand = statistics.median(ours), statistics.median(plain)
    return [
        Figure(name="one row of a durable record (WAL, FULL)", value=row * 1000, unit="ms"),
        Figure(name="one plain aiosqlite row (WAL, FULL)", value=by_hand * 1000, unit="ms"),
        Figure(name="the first against the second", value=row / by_hand, unit="×", limit=1.3),
    ]


async def _measure(folder: Path) -> tuple[list[float], list[float]]:
    ours: list[float] = []
    plain: list[float] = []

    async def body(run_id: str, payload: JsonObject, rows: DbosRows, found: Mapping[str, JsonObject]) -> JsonObject:
        async with aiosqlite.connect(folder / "plain.sqlite", isolation_level=None) as database:
            by_hand = await _by_hand(database)
            for turn in range(RUNS + 1):
                for put, taken in ((lambda name: rows.put(name, ROW), ours), (by_hand, plain)):
                    taken.append(await _each(put, turn))
        return {}

    backend = Backend.on_file(str(folder / "durable.sqlite"), body)
    backend.open()
    await backend.start("measured", {})
    backend.close()
    return ours[1:], plain[1:]


async def _each(put: Put, turn: int) -> float:
    begun = time.perf_counter()
    for number in range(ROWS):
        await put(f"step#{turn}-{number}/end")
    return (time.perf_counter() - begun) / ROWS


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
