"""A store that goes on for long keeps nothing of the connections that it had at busy times."""

import asyncio

from sqlalchemy import text
from sqlalchemy.engine import URL

from tuvl.data.engines import Opened, open_engine
from tuvl.data.reaching import Reached
from tuvl.spec.data import Pooling


async def busy(opened: Opened, connections: int) -> None:
    """Have so many connections at the same time, of which all but one are closed afterwards."""
    all_there = asyncio.Barrier(connections)

    async def one() -> None:
        async with opened.engine.connect() as connection:
            await connection.execute(text("SELECT 1"))
            await all_there.wait()

    await asyncio.gather(*(one() for _ in range(connections)))
    async with asyncio.timeout(20):  # a thread ends a moment after its connection
        while sum(worker.is_alive() for worker in opened._workers) > 1:
            await asyncio.sleep(0)


async def test_threads_of_connections_that_are_closed_are_not_kept_in_mind(tmp_path):
    url = URL.create("sqlite+aiosqlite", database=str(tmp_path / "x.db"))
    opened = open_engine(url, Pooling(size=1, max_overflow=9), Reached(what="x", elsewhere=""))
    for _ in range(20):
        await busy(opened, 10)
    assert len(opened._workers) <= 10
    await opened.aclose()
    assert not opened._workers
