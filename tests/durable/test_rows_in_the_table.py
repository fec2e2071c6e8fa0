"""Rows of a record in the table of DBOS: as DBOS itself writes them, together, and by nobody who has lost the run."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa
from dbos import DBOS

from tuvl.durable.backend import APPLICATION, Backend, DbosRows, owner
from tuvl.durable.faults import RecordFailed
from tuvl.durable.postgres import open_postgres
from tuvl.durable.queued import SharedRuns, Taker
from tuvl.durable.row_table import OF_ROW, KeptRow, RowTable, row_table, rows_of, text_of
from tuvl.durable.rows import row_of
from tuvl.durable.shared_tables import SCHEMA
from tuvl.durable.sqlite_file import open_sqlite
from tuvl.durable.writer import NewRow, Numbering, RowWriter
from tuvl.journal import Lost

ROW = row_of({"text": "é"}, 1.5)


@pytest.fixture(params=["sqlite", "postgresql"])
def runs(request: pytest.FixtureRequest, tmp_path: Path):
    if request.param == "sqlite":
        found = SharedRuns(open_sqlite(str(tmp_path / "host.sqlite")), None)
    else:
        found = SharedRuns(open_postgres(sa.make_url(request.getfixturevalue("postgres_url"))), SCHEMA)
    found.connect()
    yield found
    found.close()


def had_by(runs: SharedRuns, owner: str, *run_ids: str) -> None:
    """Have runs be somebody's."""
    for run_id in run_ids:
        if runs.find(run_id) is None:
            runs.enqueue(run_id, {})
    table = "workflow_status" if runs.schema is None else f"{runs.schema}.workflow_status"
    change = sa.text(f"UPDATE {table} SET owner_xid = :owner, status = 'PENDING' WHERE workflow_uuid = :run")
    with runs.engine.begin() as connection:
        connection.execute(change, [{"owner": owner, "run": run_id} for run_id in run_ids])


def kept_row(run_id: str, number: int, *, owner: str = "me", name: str = "a/end") -> KeptRow:
    now = int(time.time() * 1000)
    return KeptRow(run_id=run_id, owner=owner, number=number, name=name, text=text_of(ROW), began=now, ended=now)


def new_row(run_id: str, numbers: Numbering, *, owner: str = "me", name: str = "a/end") -> NewRow:
    def text(number: int) -> str:
        return text_of(ROW)

    return NewRow(run_id=run_id, owner=owner, name=name, text=text, at=int(time.time() * 1000), numbers=numbers)


def table_of(runs: SharedRuns) -> RowTable:
    return row_table(runs.engine, runs.schema, APPLICATION)


async def test_a_row_is_in_the_table_as_dbos_would_have_written_it(tmp_path):
    """The contract with the pinned DBOS: the same columns are filled, with the same kinds of values."""
    path = str(tmp_path / "run.sqlite")

    async def body(run_id, payload, rows: DbosRows, found):
        await DBOS.run_step_async({"name": "theirs"}, lambda: ROW)
        rows._numbers.last = 1
        await rows.put("ours", ROW)
        return {"owner": owner()}

    backend = Backend.on_file(path, body)
    backend.open()
    await backend.start("r", {})
    status = await backend.status("r")
    read = [(step["function_name"], step["output"]) for step in await DBOS.list_workflow_steps_async("r")]
    backend.close()
    assert status is not None
    assert read == [("theirs", ROW), ("ours", ROW)]
    assert status.output["owner"] not in ("", "None")
    engine = open_sqlite(path)
    with engine.connect() as connection:
        theirs, ours = (
            row._mapping for row in connection.execute(sa.text("SELECT * FROM operation_outputs ORDER BY 2"))
        )
    engine.dispose()
    assert {name for name, value in theirs.items() if value is not None} == set(OF_ROW.split(", "))
    for name, value in theirs.items():
        assert type(ours[name]) is type(value), name
    same = ("workflow_uuid", "output", "serialization", "application_name")
    assert [ours[name] for name in same] == [theirs[name] for name in same]


async def test_rows_of_a_run_that_was_taken_over_are_refused_and_those_beside_them_are_kept(runs):
    had_by(runs, "me", "mine")
    had_by(runs, "other", "theirs")
    writer = RowWriter(table_of(runs))
    try:
        mine = Numbering(0)
        given = [
            new_row("mine", mine),
            new_row("theirs", Numbering(0)),
            new_row("none", Numbering(0)),
            new_row("mine", mine, name="b/end"),
        ]
        assert await asyncio.gather(*map(writer.put, given)) == [True, False, False, True]
        with pytest.raises(Lost):
            await DbosRows("theirs", writer, owner="me", taken=0).put("a/end", ROW)
    finally:
        writer.close()
    assert rows_of(runs.engine, runs.schema, ["mine", "theirs"]) == {
        "mine": (2, {"a/end": ROW, "b/end": ROW}),
        "theirs": (0, {}),
    }
    assert runs.rows("mine", sealed=False) == {"a/end": ROW, "b/end": ROW}


async def test_a_number_that_somebody_else_has_written_is_no_success(runs):
    had_by(runs, "me", "r")
    writer = RowWriter(table_of(runs))
    try:
        assert await writer.put(new_row("r", Numbering(0)))
        assert not await writer.put(new_row("r", Numbering(0), name="other/end"))
    finally:
        writer.close()


def test_a_row_counts_whose_connection_was_lost_when_it_had_been_written(postgres_url):
    runs = SharedRuns(open_postgres(sa.make_url(postgres_url)), SCHEMA)
    runs.connect()
    had_by(runs, "me", "r")
    table, row = table_of(runs), kept_row("r", 1)
    for _ in range(2):
        connection = table.connect()
        assert table.write(connection, [row]) == {("r", 1)}
        connection.close()
    had_by(runs, "other", "r")
    connection = table.connect()
    assert table.write(connection, [row]) == set(), "by now it is another's"
    connection.close()
    runs.close()


class Table:
    """A table whose connections are lost, and which takes no row called `bad`."""

    def __init__(self, lost: int = 0) -> None:
        self.lost = lost
        self.written: list[list[tuple[int, str]]] = []

    def connect(self):
        return type("Connection", (), {"close": lambda self: None})()

    def write(self, connection: object, rows: Sequence[KeptRow]) -> set[tuple[str, int]]:
        if self.lost:
            self.lost -= 1
            raise ConnectionError
        if any(row.name == "bad" for row in rows):
            raise ValueError("bad")
        self.written.append([(row.number, row.name) for row in rows])
        return {(row.run_id, row.number) for row in rows}

    def lost_connection(self, error: Exception) -> bool:
        return isinstance(error, ConnectionError)

    def fault(self, error: Exception) -> RecordFailed:
        return RecordFailed(type(error).__name__)


async def test_a_row_that_cannot_be_written_takes_no_other_one_along_and_no_number():
    table = Table()
    writer = RowWriter(table)
    numbers = Numbering(7)
    given = [writer.put(new_row("r", numbers, name=name)) for name in ("a", "bad", "b")]
    first, bad, last = await asyncio.gather(*given, return_exceptions=True)
    writer.close()
    assert (first, last) == (True, True)
    assert isinstance(bad, RecordFailed)
    assert [one for rows in table.written for one in rows] == [(8, "a"), (9, "b")]


async def test_rows_wait_for_a_database_that_is_away_and_are_written_once_it_is_back():
    table = Table(lost=2)
    writer = RowWriter(table)
    assert await writer.put(new_row("r", Numbering(0)))
    writer.close()
    assert table.written == [[(1, "a/end")]]
    with pytest.raises(RecordFailed):
        await writer.put(new_row("r", Numbering(0)))


def test_half_a_character_is_written_so_that_databases_take_it():
    text = text_of({"v": 1, "value": "\ud800é"})
    assert text.isascii()
    assert text_of({"value": "é"}) == '{"value":"é"}'


def test_one_process_may_have_a_run_in_its_own_file_and_then_those_of_a_shared_database(runs, tmp_path):
    async def body(run_id, payload, rows, found):
        return {"v": 1, "result": {}}

    async def in_a_file() -> None:
        backend = Backend.on_file(str(tmp_path / "run.sqlite"), body)
        backend.open()
        await backend.start("r", {})
        backend.close()

    async def shared() -> object:
        runs.enqueue("shared", {})
        taker = Taker(runs, executor="x", concurrency=1, body=body)
        taker.open()
        taker.take_new(True)
        while (standing := runs.find("shared")) is None or standing.state != "ended":
            await asyncio.sleep(0.02)
        await asyncio.to_thread(taker.close)
        return standing.output

    asyncio.run(in_a_file())
    assert asyncio.run(shared()) == {"v": 1, "result": {}}
