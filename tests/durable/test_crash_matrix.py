"""Killed at every kind of checkpoint, before and after it is recorded: each effect once, or a person is asked."""

import os
from pathlib import Path

import pytest

from tests.durable.durable_project import EFFECTS, READS, ROWS, counting, make_project
from tests.durable.processes import Processes

SHORT = (
    "before keyed#1/end",
    "after plain#1/end!1",
    "before plain#1/end",
    "after plain#1/end",
    "before agent#1/turn.m#2",
    "before agent#1/tool.look.c2#1/end",
    "before agent#1/tool.pay.c3#1/end",
    "after agent#1/end",
    "before each#1/[1]/end",
    "before inner#1/deep#1/end",
    "after inner#1/end",
)
"""One point of each kind; `make soak` takes them all."""

ALL = tuple(f"{moment} {row}" for row in ROWS for moment in ("before", "after"))


def run_of(folder: Path) -> str:
    (database,) = (folder / ".tuvl" / "runs").glob("*.sqlite")
    return database.stem


def check(point: str, folder: Path, run: Processes) -> None:
    """Kill a run at a point, go on in a new process, and count what was really done."""
    make_project(folder)
    with counting() as (port, server):
        killed = run.tuvl("run", "w", "--durable", "--set", f"origin={port}", "--set", "case=x", cwd=folder, kill=point)
        assert killed.code == -9, killed.err
        before = dict(server.counts)
        resumed = run.tuvl("resume", run_of(folder), cwd=folder)
        asked = False
        if resumed.code == 3:
            # Only an effect that was begun and whose end nobody wrote down is asked about, and never repeated.
            asked = True
            error = resumed.document["error"]
            assert error["type"] == "outcome_unknown"
            assert dict(server.counts) == before | {
                path: count for path, count in server.counts.items() if path not in before
            }
            took_place = all(server.counts[f"/x/{name}"] <= 1 for name in EFFECTS)
            assert took_place
            outcome = "done" if "end!" not in point else "retry"
            resumed = run.tuvl("resume", run_of(folder), "--outcome", outcome, cwd=folder)
        assert resumed.code == 0, resumed.err
        document = resumed.document
        counts = {name: server.counts[f"/x/{name}"] for name in (*EFFECTS, *READS)}
    keyed = counts.pop("keyed")
    assert keyed in (1, 2), "a call with a key may be made again"
    assert server.keys["/x/keyed"] == {"key-x"}, "and then carries the same key"
    assert keyed == 1 or "keyed#1/end" in point
    looked = counts.pop("look2")
    assert looked in (1, 2)
    assert set(counts.values()) == {1}, counts
    assert asked is is_unknown(point)
    assert document["status"] == "completed"
    assert document["usage"]["llm_calls"] == 3
    assert document["usage"]["tool_calls"] == 3
    assert document["usage"]["total_tokens"] == 75
    assert document["usage"]["cost_usd"] == pytest.approx(90e-6)
    assert document["context"]["agent_result"] == "done"
    assert [step["id"] for step in document["steps"]] == ["begin", "keyed", "plain", "agent", "each", "inner"]


def is_unknown(point: str) -> bool:
    """Whether nobody but a person can tell if a write took place: it was intended on record, and its end is not."""
    intended = point.startswith("after ") and point.endswith("!1")
    return "keyed" not in point and (intended or is_write_end(point))


def is_write_end(point: str) -> bool:
    """Whether the effect had taken place and only its record is missing."""
    moment, _, row = point.partition(" ")
    return moment == "before" and f"{row}!1" in ROWS


@pytest.mark.parametrize("point", ALL if os.environ.get("TUVL_SOAK") else SHORT)
def test_killed_there_a_run_goes_on_and_does_nothing_twice(point, tmp_path, run):
    check(point, tmp_path, run)


def test_a_run_writes_down_exactly_what_the_matrix_goes_through(tmp_path, run):
    """A row that no point names would be a checkpoint that nobody has tried."""
    import sqlite3

    make_project(tmp_path)
    with counting() as (port, _):
        done = run.tuvl("run", "w", "--durable", "--set", f"origin={port}", "--set", "case=x", cwd=tmp_path)
    assert done.code == 0, done.err
    with sqlite3.connect(tmp_path / ".tuvl" / "runs" / f"{run_of(tmp_path)}.sqlite") as database:
        rows = database.execute("SELECT function_name FROM operation_outputs ORDER BY function_id").fetchall()
    assert tuple(name for (name,) in rows) == ROWS
