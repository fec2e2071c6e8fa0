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
