"""Of a record nothing can be taken away in the middle, moved or, with a key, be turned back unnoticed."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.durable.durable_project import counting, make_project
from tests.durable.test_crash_matrix import run_of
from tests.durable.test_sealed_record import ONE, start
from tuvl.errors import UsageError
from tuvl.sealing import Keys

GAP = "DELETE FROM operation_outputs WHERE function_name IN ('plain#1/end', 'plain#1/end!1')"
RENUMBERED = (
    "DELETE FROM operation_outputs WHERE function_id = 1;"
    "UPDATE operation_outputs SET function_id = -function_id;"
    "UPDATE operation_outputs SET function_id = -function_id - 1"
)
TURNED_BACK = (
    "UPDATE workflow_status SET status = 'PENDING', output = NULL, completed_at = NULL; DELETE FROM workflow_output"
)


@pytest.fixture(scope="module", params=["", ONE], ids=["in plain text", "encrypted"])
def lost(request, tmp_path_factory, run):
    """A run whose process was lost; its folder, its key, and what was counted."""
    folder = make_project(tmp_path_factory.mktemp("lost"))
    with counting() as (port, counted):
        begun = start(folder, run, port, keys=request.param, kill="after agent#1/tool.pay.c1#1/end")
        assert begun.code == -9, begun.err
        yield folder, request.param, counted


@pytest.fixture(scope="module")
def ended(tmp_path_factory, run):
    """A run with a key that has ended."""
    folder = make_project(tmp_path_factory.mktemp("ended"))
    with counting() as (port, counted):
        done = start(folder, run, port, keys=ONE)
        assert done.code == 0, done.err
        yield folder, done, counted


def changed(found, folder: Path, change: str) -> Path:
    shutil.copytree(found[0], folder, dirs_exist_ok=True)
    database = sqlite3.connect(folder / ".tuvl" / "runs" / f"{run_of(folder)}.sqlite")
    database.executescript(change)
    database.close()
    return folder


def resumed(folder: Path, run, keys: str, command: str = "resume"):
    return run.tuvl(command, run_of(folder), cwd=folder, environ={"TUVL_RECORD_KEY": keys})


@pytest.mark.parametrize("command", ["resume", "replay"])
def test_an_entry_that_was_taken_out_of_the_middle_is_missed_and_nothing_is_done(command, lost, tmp_path, run):
    folder, before = changed(lost, tmp_path, GAP), dict(lost[2].counts)
    refused = resumed(folder, run, lost[1], command)
    assert refused.code == 2, refused.err
    assert "2 are missing" in refused.err
    assert dict(lost[2].counts) == before


def test_encrypted_entries_have_their_places(ended, tmp_path, run):
    folder, before = changed(ended, tmp_path, f"{TURNED_BACK}; {RENUMBERED}"), dict(ended[2].counts)
    refused = resumed(folder, run, ONE)
    assert refused.code == 2, refused.err
    assert "has its entry 2 at the place of entry 1; somebody has changed it" in refused.err
    assert dict(ended[2].counts) == before


def test_a_run_that_has_ended_stays_so_whatever_its_status_says(ended, tmp_path, run):
    folder, before = changed(ended, tmp_path, TURNED_BACK), dict(ended[2].counts)
    again = resumed(folder, run, ONE)
    assert again.code == 0, again.err
    assert again.document == ended[1].document
    assert dict(ended[2].counts) == before
    assert resumed(folder, run, ONE, "replay").document["divergence"] is None


def test_turned_back_and_cut_in_the_middle_nothing_is_done(ended, tmp_path, run):
    folder, before = changed(ended, tmp_path, f"{TURNED_BACK}; {GAP}"), dict(ended[2].counts)
    refused = resumed(folder, run, ONE)
    assert refused.code == 2, refused.err
    assert "2 are missing" in refused.err
    assert dict(ended[2].counts) == before


def test_an_entry_opens_at_its_number_alone_and_one_that_was_kept_without_a_number_at_any():
    seal = Keys([ONE]).of("r")
    row = {"v": 1, "t": 0.0, "value": 7}
    numbered, before = seal.sealed("a", row, number=2), seal.sealed("a", row)
    assert seal.opened("a", numbered, number=2) == seal.opened("a", before, number=9) == row
    with pytest.raises(UsageError, match="entry 2 at the place of entry 3"):
        seal.opened("a", numbered, number=3)
