"""N10 wf.resume_replay: what a run has done is not done again when it goes on; a run without a record says so."""

from tests.durable.durable_project import counting
from tests.durable.test_crash_matrix import run_of
from tests.durable.test_kills import begun, http, project

STEPS = "  steps:\n" + "".join(http(name, name) for name in ("one", "two", "three"))


def test_killed_after_the_second_of_three_steps_only_the_third_is_still_done(tmp_path, run):
    project(tmp_path, STEPS)
    with counting() as (port, counted):
        begun(tmp_path, run, port, "after two#1/end")
        assert [counted.counts[path] for path in ("/one", "/two", "/three")] == [1, 1, 0]
        done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
        assert done.code == 0, done.err
        assert [counted.counts[path] for path in ("/one", "/two", "/three")] == [1, 1, 1]
    assert [step["id"] for step in done.document["steps"]] == ["one", "two", "three"]


def test_a_run_without_a_record_is_not_resumed_and_nothing_is_done_twice(tmp_path, run):
    project(tmp_path, STEPS)
    with counting() as (port, counted):
        ended = run.tuvl("run", "w", "--set", f"origin={port}", cwd=tmp_path)
        assert ended.code == 0, ended.err
        refused = run.tuvl("resume", ended.document["run_id"], cwd=tmp_path)
        assert refused.code == 2
        assert "there is no durable run" in refused.err
        assert [counted.counts[path] for path in ("/one", "/two", "/three")] == [1, 1, 1]


def test_a_run_whose_process_is_lost_while_it_takes_the_run_up_is_taken_up_by_the_next(tmp_path, run):
    project(tmp_path, STEPS)
    with counting() as (port, counted):
        begun(tmp_path, run, port, "after two#1/end")
        for point in ("before taken", "after taken"):
            assert run.tuvl("resume", run_of(tmp_path), cwd=tmp_path, kill=point).code == -9
            read = run.tuvl("replay", run_of(tmp_path), cwd=tmp_path)
            assert (read.code, read.document["divergence"]) == (0, None), read.err
        done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
        assert done.code == 0, done.err
        assert [counted.counts[path] for path in ("/one", "/two", "/three")] == [1, 1, 1]
