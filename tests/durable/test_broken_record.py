"""A record that cannot be written, or is not what was written: a clear failure; a run goes on once it is mended."""

import json
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.durable.durable_project import EFFECTS, counting, make_project
from tests.durable.test_crash_matrix import run_of


def start(folder: Path, run, port: int, **more: object):
    make_project(folder)
    words = ("run", "w", "--durable", "--set", f"origin={port}", "--set", "case=x")
    return run.tuvl(*words, cwd=folder, **more)


def file_of(folder: Path) -> Path:
    return folder / ".tuvl" / "runs" / f"{run_of(folder)}.sqlite"


def whole(path: Path) -> None:
    """The file is a database without a fault, whatever became of the run."""
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def stopped(ended, why: str) -> None:
    assert ended.code == 1, ended.err
    assert ended.document["error"]["type"] == "record_failed"
    assert why in ended.document["error"]["message"]
    assert "Traceback" not in ended.err


def gone_on(folder: Path, run, counted) -> None:
    """The run goes on; what may have taken place is asked about, and nothing takes place twice."""
    done = run.tuvl("resume", run_of(folder), cwd=folder)
    if done.code == 3:
        assert done.document["error"]["type"] == "outcome_unknown"
        wait = done.document["error"]["detail"]["wait"]
        path = {"plain#1/end!1?": "plain", "keyed#1/end!1?": "keyed"}.get(wait)
        outcome = "done" if path is None or counted.counts[f"/x/{path}"] else "retry"
        done = run.tuvl("resume", run_of(folder), "--outcome", outcome, cwd=folder)
    assert done.code == 0, done.err
    assert {name: counted.counts[f"/x/{name}"] for name in EFFECTS if name != "keyed"} == dict.fromkeys(
        (name for name in EFFECTS if name != "keyed"), 1
    )


PAGES = 54
"""Pages that the record's file has when the run is under way; the first rows fit in them."""


def test_a_full_disk_ends_the_run_clearly_and_it_goes_on_when_there_is_room(tmp_path, run, server):
    """The file may grow no further: SQLite says what it says of a full disk."""
    port, counted = server
    stopped(start(tmp_path, run, port, pages=PAGES), "the disk is full")
    whole(file_of(tmp_path))
    gone_on(tmp_path, run, counted)


def test_a_disk_that_refuses_every_further_byte_loses_nothing_that_was_recorded(tmp_path, run, server):
    """RLIMIT_FSIZE: also the log that SQLite writes ahead, and the store of runs, may grow no further."""
    port, counted = server
    ended = start(tmp_path, run, port, file_bytes=400_000)
    stopped(ended, "the disk")
    whole(file_of(tmp_path))
    gone_on(tmp_path, run, counted)


def test_no_room_at_all_is_told_before_anything_is_done(tmp_path, run, server):
    port, counted = server
    ended = start(tmp_path, run, port, file_bytes=20_000)
    assert ended.code in (1, 2), ended.err
    assert "Traceback" not in ended.err
    assert "disk" in ended.err
    assert counted.counts == {}


def test_a_file_that_another_program_holds_is_waited_for_and_then_the_run_stops(tmp_path, run, server):
    port, counted = server
    held: list[sqlite3.Connection] = []

    def hold() -> None:
        held.append(sqlite3.connect(file_of(tmp_path), isolation_level=None, check_same_thread=False))
        held[0].execute("BEGIN IMMEDIATE")

    counted.meanwhile["/x/plain"] = hold
    stopped(start(tmp_path, run, port, busy_s=0.3), "another program has held its file for more than 0.3 s")
    refused = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path, busy_s=0.3)
    assert refused.code == 2, refused.err
    assert "another program has held its file" in refused.err
    assert counted.counts["/x/plain"] == 1
    held[0].execute("ROLLBACK")
    held[0].close()
    counted.meanwhile.clear()
    gone_on(tmp_path, run, counted)


def test_a_file_that_is_held_for_a_moment_is_waited_for_and_the_run_goes_on(tmp_path, run, server):
    port, counted = server
    held: list[sqlite3.Connection] = []

    def hold() -> None:
        held.append(sqlite3.connect(file_of(tmp_path), isolation_level=None, check_same_thread=False))
        held[0].execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.5, held[0].close)
        timer.start()

    counted.meanwhile["/x/plain"] = hold
    ended = start(tmp_path, run, port)
    assert ended.code == 0, ended.err
    assert counted.counts["/x/plain"] == 1


def sql(statement: str):
    def change(path: Path) -> None:
        with sqlite3.connect(path) as database:
            database.execute(statement)

    return change


def cut(size: int | None, over: int | None = None):
    """Leave only the beginning of the file, or write over a page of it."""

    def change(path: Path) -> None:
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        data = bytearray(path.read_bytes())
        if over is not None:
            data[over : over + 4096] = b"\xff" * 4096
        path.write_bytes(data[: len(data) // 2 if size == -1 else size])

    return change


def row(text: str):
    return sql(f"UPDATE operation_outputs SET output = '{text}' WHERE function_name = 'plain#1/end'")


@pytest.fixture(scope="module")
def lost_run(tmp_path_factory, run):
    """A run whose process was lost; each test breaks a copy of its record."""
    folder = tmp_path_factory.mktemp("lost")
    with counting() as (port, counted):
        assert start(folder, run, port, kill="after plain#1/end").code == -9
        yield folder, counted


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (cut(0), "holds nothing of run"),
        (cut(10_000), "its file is damaged"),
        (cut(-1), "its file is damaged"),
        (cut(None, 0), "its file is no database"),
        (cut(None, 20 * 4096), "its file is damaged"),
        (row("{nonsense"), "'plain#1/end' cannot be read"),
        (row("null"), "'plain#1/end' cannot be read"),
        (row('{"v": 1}'), "'plain#1/end' is not what was written"),
        (row('{"v": 1, "t": 1.0, "value": 7}'), "'plain#1/end' is not what was written"),
        (row('{"v": 2, "t": 1.0, "value": 7}'), "has the form 2, and this tuvl knows form 1"),
        (
            sql("UPDATE operation_outputs SET output = replace(output, 'true', 'null') WHERE output LIKE '%true%'"),
            "is not what was written",
        ),
        (sql("UPDATE workflow_input SET inputs = '{nonsense'"), "what it was started with cannot be read"),
        (
            sql('UPDATE workflow_input SET inputs = \'{"positionalArgs": [{"v": 1}], "namedArgs": {}}\''),
            "what the run was started with is not what was written",
        ),
        (sql("DELETE FROM workflow_input"), "what it was started with cannot be read"),
        (sql("UPDATE workflow_status SET status = 'ERROR'"), "it is marked as 'ERROR'"),
        (sql("DELETE FROM workflow_status"), "holds nothing of run"),
        (sql("DROP TABLE operation_outputs"), "holds nothing of run"),
        (
            sql("UPDATE workflow_status SET application_version = 'tuvl-journal-2'"),
            "in the form 'tuvl-journal-2', and this tuvl knows 'tuvl-journal-1'",
        ),
    ],
)
def test_a_record_that_is_not_what_was_written_is_refused_and_the_run_is_not_begun_anew(
    change, told, tmp_path, run, lost_run
):
    folder, counted = lost_run
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    change(file_of(tmp_path))
    before = dict(counted.counts)
    refused = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    assert refused.code == 2, refused.err
    assert told in refused.err
    assert "Traceback" not in refused.err
    assert refused.out == ""
    assert dict(counted.counts) == before


def test_each_write_of_a_record_is_on_the_disk_and_threads_stay_few_however_many_steps_run_at_once(tmp_path):
    """WAL and FULL are what the connection really has; 100 items, 50 at once, are written by one thread."""
    (tmp_path / "workflows").mkdir()
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "n.py").write_text(
        "import threading\nfrom tuvl import node\n\n\n@node('count', effects='read')\nasync def count(ctx):\n"
        "    return {'threads': sorted(thread.name for thread in threading.enumerate())}\n",
        encoding="utf-8",
    )
    (tmp_path / "workflows" / "w.yaml").write_text(
        """\
kind: Workflow
metadata: { name: w, description: Count threads. }
spec:
  durable: true
  limits: { max_steps: 400 }
  steps:
    - { id: each, kind: ForEach, items: ITEMS, as: item, step: count, concurrency: 50, output_key: found }
    - { id: count, kind: Functional, runner: count, description: Count. }
""".replace("ITEMS", str(list(range(100)))),
        encoding="utf-8",
    )
    code = """
import sys
import sqlalchemy as sa
from tuvl.durable import sqlite_file
seen = set()
opened = sqlite_file.open_sqlite
import tuvl.durable.backend as backend
def looking(path):
    engine = opened(path)
    @sa.event.listens_for(engine, "connect")
    def look(connection, record):
        seen.add(tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")))
    return engine
backend.open_sqlite = looking
from tuvl.__main__ import main
code = main(["run", "w", "--output", "out.json", "--events", "none"])
print(sorted(seen))
sys.exit(code)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout == "[('wal', 2)]\n"
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["context"]["found"]
    assert len(found) == 100
    working = [sum(name.startswith("dbos-executor") for name in item["threads"]) for item in found]
    assert max(working) <= 16
    # Nodes have threads of their own, and so has the record; beside those there are a handful, and they grow no more.
    rest = [sum(not name.startswith(("dbos-executor", "tuvl-node")) for name in item["threads"]) for item in found]
    assert max(rest) <= 12
    assert rest[-1] <= rest[0] + 1


TAKEN, ENDED = "recovery_attempts + ?", "INSERT INTO main.workflow_output"
"""Of what the statements consist that take a run up, and keep its end."""


def test_a_run_whose_end_finds_no_room_says_so_with_its_result_and_ends_once_there_is_room(tmp_path, run, server):
    port, counted = server
    for ended in (
        start(tmp_path, run, port, full=ENDED),
        run.tuvl("resume", run_of(tmp_path), cwd=tmp_path, full=ENDED),
    ):
        stopped(ended, "the disk is full; `tuvl resume` goes on with the run once that is mended")
        assert ended.document["context"]["agent_result"] == "done"
    done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    assert (done.code, done.document["error"]) == (0, None), done.err
    assert {name: counted.counts[f"/x/{name}"] for name in EFFECTS} == dict.fromkeys(EFFECTS, 1)


@pytest.mark.parametrize("statement", ["status = 'ENQUEUED'", TAKEN], ids=["put back", "taken"])
def test_a_run_that_cannot_be_taken_up_for_want_of_room_is_not_waited_for(statement, tmp_path, run, server):
    port, counted = server
    assert start(tmp_path, run, port, kill="after agent#1/end").code == -9
    refused = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path, full=statement)
    assert (refused.code, refused.out) == (2, ""), refused.err
    assert "the disk is full; `tuvl resume` goes on with the run once that is mended" in refused.err
    gone_on(tmp_path, run, counted)
