"""Rows that come at the same time: written together, each told of its own fault, none lost."""

import asyncio

import pytest

from tuvl.data.gathered import MOST, Gathered


class Table:
    """Writes rows when it is let, and refuses those that are bad."""

    def __init__(self) -> None:
        self.transactions: list[list[object]] = []
        self.free = asyncio.Event()

    async def write(self, rows) -> None:
        await self.free.wait()
        if any(row["id"] == "bad" for row in rows):
            raise ValueError("bad")
        self.transactions.append([row["id"] for row in rows])


async def test_rows_that_come_while_others_are_written_go_into_the_next_transaction():
    table = Table()
    gathered = Gathered(table.write)
    puts = [asyncio.create_task(gathered.put({"id": 0}))]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    puts += [asyncio.create_task(gathered.put({"id": number})) for number in range(1, MOST + 3)]
    await asyncio.sleep(0)
    table.free.set()
    await asyncio.gather(*puts)
    assert [len(each) for each in table.transactions] == [1, MOST, 2]
    assert [id for each in table.transactions for id in each] == list(range(MOST + 3))


async def test_a_row_that_cannot_be_written_takes_no_other_along():
    table = Table()
    gathered = Gathered(table.write)
    puts = [asyncio.create_task(gathered.put({"id": id})) for id in ("a", "bad", "b")]
    await asyncio.sleep(0)
    table.free.set()
    told = await asyncio.gather(*puts, return_exceptions=True)
    assert [type(each) for each in told] == [type(None), ValueError, type(None)]
    assert sorted(id for each in table.transactions for id in each) == ["a", "b"]
    with pytest.raises(ValueError, match="bad"):
        await gathered.put({"id": "bad"})


async def test_a_row_that_nobody_waits_for_any_more_is_not_written_and_closing_waits_for_the_rest():
    table = Table()
    gathered = Gathered(table.write)
    first, left, kept = [asyncio.create_task(gathered.put({"id": id})) for id in ("first", "left", "kept")]
    for _ in range(3):
        await asyncio.sleep(0)
    later = [asyncio.create_task(gathered.put({"id": id})) for id in ("gone", "last")]
    await asyncio.sleep(0)
    later[0].cancel()
    await asyncio.sleep(0)
    table.free.set()
    await gathered.aclose()
    await asyncio.gather(first, left, kept, later[1])
    assert "gone" not in [id for each in table.transactions for id in each]
    assert "last" in [id for each in table.transactions for id in each]
