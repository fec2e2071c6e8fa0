"""`TUVL_RECORD_KEY`: what a record holds is encrypted, bound to its place, and opened with any of the keys given."""

import sqlite3
from pathlib import Path

import pytest

from tests.durable.durable_project import counting, make_project
from tests.durable.test_crash_matrix import run_of
from tuvl.errors import UsageError
from tuvl.sealing import Keys

ONE, TWO = "Vf0d1m+0cE9xPp1k7u8o9R5yq3s2t1v0w/x4y5z6A7A=", "mZ8s7d6f5g4h3j2k1l0qwertyuiopASDFGHJKLzxcvA="
CASE = "a-very-private-case"


@pytest.fixture(scope="module")
def lost(tmp_path_factory, run):
    """A run with a key, whose process was lost; the folder, the port and what was counted."""
    folder = make_project(tmp_path_factory.mktemp("sealed"))
    with counting() as (port, counted):
        begun = start(folder, run, port, keys=ONE, kill="after agent#1/tool.pay.c1#1/end")
        assert begun.code == -9, begun.err
        yield folder, counted


def start(folder: Path, run, port: int, *, keys: str, kill: str | None = None):
    words = ("run", "w", "--durable", "--set", f"origin={port}", "--set", f"case={CASE}")
    return run.tuvl(*words, cwd=folder, kill=kill, environ={"TUVL_RECORD_KEY": keys})


def resumed(folder: Path, run, keys: str, *more: str):
    return run.tuvl("resume", run_of(folder), *more, cwd=folder, environ={"TUVL_RECORD_KEY": keys})


def copied(lost, folder: Path) -> Path:
    import shutil

    return Path(shutil.copytree(lost[0], folder, dirs_exist_ok=True))


def text_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (folder / ".tuvl" / "runs").glob("*.sqlite*"))


def test_the_file_holds_no_word_of_what_the_run_was_given_and_it_goes_on_with_the_key(lost, tmp_path, run):
    folder = copied(lost, tmp_path)
    assert CASE.encode() not in text_of(folder)
    assert b"agent#1/turn.m#1" in text_of(folder), "names are no secret"
    # Keys change over time: the new one comes first, and the old one still opens.
    done = resumed(folder, run, f"{TWO}, {ONE}")
    assert done.code == 0, done.err
    assert done.document["context"]["at"] == CASE
    assert CASE.encode() not in text_of(folder)
    again = resumed(folder, run, f"{ONE},{TWO}")
    assert again.document == done.document
    half = resumed(folder, run, ONE)
    assert half.code == 2, "its end was encrypted with the new key"
    assert "it was encrypted with another key" in half.err


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("", "is encrypted; set TUVL_RECORD_KEY"),
        (TWO, "it was encrypted with another key, or somebody has changed it"),
        ("c2hvcnQ=", "a key is 32 bytes in Base64, as `openssl rand -base64 32`"),
        ("no key at all", "a key is 32 bytes in Base64"),
    ],
)
def test_without_its_key_a_run_is_left_where_it_is(keys, told, lost, tmp_path, run):
    folder = copied(lost, tmp_path)
    before = dict(lost[1].counts)
    for words in (("resume", run_of(folder)), ("replay", run_of(folder))):
        refused = run.tuvl(*words, cwd=folder, environ={"TUVL_RECORD_KEY": keys})
        assert refused.code == 2, refused.err
        assert told in refused.err
        assert "Traceback" not in refused.err
        assert keys not in refused.err or not keys
    assert dict(lost[1].counts) == before


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            "UPDATE operation_outputs SET output = (SELECT output FROM operation_outputs WHERE function_name ="
            " 'keyed#1/end') WHERE function_name = 'plain#1/end'",
            "'plain#1/end' in the place of another entry",
        ),
        (
            'UPDATE operation_outputs SET output = \'{"v": 1, "t": 1.0, "value": null, "sum": 634125391}\''
            " WHERE function_name = 'plain#1/end'",
            "an entry that is not encrypted",
        ),
    ],
)
def test_an_entry_in_the_place_of_another_is_found_out(change, told, lost, tmp_path, run):
    folder = copied(lost, tmp_path)
    with sqlite3.connect(folder / ".tuvl" / "runs" / f"{run_of(folder)}.sqlite") as database:
        database.execute(change)
    refused = resumed(folder, run, ONE)
    assert refused.code == 2, refused.err
    assert told in refused.err


def test_a_bad_key_is_told_before_anything_is_kept(tmp_path, run):
    folder = make_project(tmp_path)
    refused = start(folder, run, 1, keys="c2hvcnQ=")
    assert refused.code == 2
    assert "a key is 32 bytes in Base64" in refused.err
    assert not list((folder / ".tuvl").glob("runs/*.sqlite"))


def test_a_run_that_was_begun_without_a_key_goes_on_with_one(tmp_path, run):
    folder = make_project(tmp_path)
    with counting() as (port, _):
        assert start(folder, run, port, keys="", kill="after plain#1/end").code == -9
        done = resumed(folder, run, ONE)
    assert done.code == 0, done.err


def test_an_entry_of_another_run_does_not_fit():
    kept = Keys([ONE]).of("one").sealed("a#1/end", {"v": 1, "t": 1.0, "value": "secret"})
    assert kept.keys() == {"v", "t", "sealed"}
    assert Keys([TWO, ONE]).of("one").opened("a#1/end", kept)["value"] == "secret"
    with pytest.raises(UsageError, match="in the place of another"):
        Keys([ONE]).of("two").opened("a#1/end", kept)
