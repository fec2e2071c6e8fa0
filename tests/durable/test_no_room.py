"""A record that cannot be begun: the run ends as failed before anything is done, and leaves no files behind."""

import pytest

from tests.durable.test_kills import project

STEPS = "  steps:\n    - { id: a, kind: Functional, runner: set, values: { found: 1 } }\n"


@pytest.mark.parametrize("room", [8_000, 150_000])
def test_without_room_for_a_record_the_run_fails_as_such_and_nobody_is_told_to_resume_it(room, tmp_path, run):
    project(tmp_path, STEPS)
    ended = run.tuvl("run", "w", "--durable", "--set", "origin=1", cwd=tmp_path, file_bytes=room)
    assert ended.code == 1, ended.err
    assert (ended.document["status"], ended.document["error"]["type"]) == ("failed", "record_failed")
    assert "start it anew" in ended.err
    assert "tuvl resume" not in ended.err
    assert list((tmp_path / ".tuvl" / "runs").iterdir()) == []
    assert run.tuvl("run", "w", "--durable", "--set", "origin=1", cwd=tmp_path).code == 0


@pytest.mark.parametrize("blocked", ["definitions", "runs"])
def test_where_the_folders_of_a_run_cannot_be_written_its_document_says_that_nothing_was_done(blocked, tmp_path, run):
    project(tmp_path, STEPS)
    there = tmp_path / ".tuvl" / blocked
    there.parent.mkdir()
    there.write_text("no folder", encoding="utf-8")
    ended = run.tuvl("run", "w", "--durable", "--set", "origin=1", cwd=tmp_path)
    assert ended.code == 1, ended.err
    assert (ended.document["status"], ended.document["error"]["type"]) == ("failed", "record_failed")
    assert f"nothing can be written to '{there}' (file exists)" in ended.document["error"]["message"]
    assert "start it anew" in ended.err
    there.unlink()
    assert run.tuvl("run", "w", "--durable", "--set", "origin=1", cwd=tmp_path).code == 0


def test_fork_without_room_for_a_record_gives_the_document_of_a_run_that_was_not_begun(tmp_path, run):
    project(tmp_path, STEPS)
    begun = run.tuvl("run", "w", "--durable", "--set", "origin=1", cwd=tmp_path)
    fork = ("runs", "fork", begun.document["run_id"], "--at", "a")
    ended = run.tuvl(*fork, cwd=tmp_path, file_bytes=150_000)
    assert ended.code == 1, ended.err
    assert (ended.document["status"], ended.document["error"]["type"]) == ("failed", "record_failed")
    assert ended.document["run_id"] != begun.document["run_id"]
