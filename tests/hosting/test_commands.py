"""What the command line makes of durable runs that workers share, and of forks."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.durable.durable_project import counting
from tests.durable.processes import Ended
from tests.hosting.hosted_project import make_project


@pytest.fixture
def server():
    with counting() as (port, counted):
        yield port, counted


@pytest.fixture
def tuvl(run, shared_site):
    """Run a command on the project and the database of the test."""
    (shared_site.folder / "ann.yaml").write_text("id: ann\ngroups: [finance]\n")
    (shared_site.folder / "pay.yaml").write_text("verdict: pay\n")

    def tuvl(*words: str, kill: str | None = None) -> Ended:
        environ = {"TUVL_DATABASE_URL": shared_site.url}
        return run.tuvl(*words, cwd=shared_site.folder, kill=kill, environ=environ)

    return tuvl


def listed(tuvl, *words: str) -> list[dict]:
    found = json.loads(tuvl("runs", "list", "--format", "json", *words).out)
    assert isinstance(found, list)
    return found


def w(port: int) -> tuple[str, ...]:
    return ("run", "w", "--durable", "--set", f"origin={port}", "--set", "case=x")


def test_a_run_is_performed_where_it_was_asked_for_and_is_on_record(tuvl, server):
    port, counted = server
    done = tuvl(*w(port))
    assert done.code == 0, done.err
    assert done.document["status"] == "completed"
    assert "durable run" in done.err
    (one,) = listed(tuvl)
    assert (one["run_id"], one["status"]) == (done.document["run_id"], "completed")
    assert one["usage"] == done.document["usage"]
    again = tuvl("resume", one["run_id"])
    assert again.code == 0
    assert "had ended already" in again.err
    assert again.document == done.document
    replayed = tuvl("replay", one["run_id"])
    assert replayed.code == 0, replayed.err
    assert replayed.document["divergence"] is None
    assert counted.counts["/x/plain"] == 1


def test_a_run_that_is_left_to_workers_is_queued_until_one_takes_it(tuvl, server, shared_site, spawn):
    detached = tuvl(*w(server[0]), "--detach")
    assert detached.code == 0, detached.err
    assert detached.document["status"] == "queued"
    assert [one["status"] for one in listed(tuvl)] == ["queued"]
    assert "queued" in tuvl("runs", "show", detached.document["run_id"]).out
    spawn(shared_site)
    done = tuvl("resume", detached.document["run_id"])
    assert done.code == 0, done.err
    assert done.document["status"] == "completed"


def test_a_run_whose_own_process_is_killed_goes_on_in_a_worker(tuvl, server, shared_site, spawn):
    port, counted = server
    assert tuvl(*w(port), kill="before agent#1/turn.m#2").code == -9
    (one,) = listed(tuvl)
    spawn(shared_site)
    done = tuvl("resume", one["run_id"])
    assert done.code == 0, done.err
    assert counted.counts["/x/plain"] == 1


def test_a_run_that_nobody_has_goes_on_in_the_process_that_resumes_it(tuvl, server):
    port, counted = server
    assert tuvl(*w(port), kill="after plain#1/end!1").code == -9
    (one,) = listed(tuvl)
    waiting = tuvl("resume", one["run_id"])
    assert waiting.code == 3, waiting.err
    assert waiting.document["error"]["type"] == "outcome_unknown"
    assert "--outcome done|retry|failed" in tuvl("approve", one["run_id"]).err
    done = tuvl("resume", one["run_id"], "--outcome", "retry")
    assert done.code == 0, done.err
    assert counted.counts["/x/plain"] == 1


def test_a_person_answers_and_a_live_worker_goes_on(tuvl, shared_site, spawn):
    spawn(shared_site)
    asked = tuvl("run", "pay", "--set", "sum=7", "--events", "none")
    assert asked.code == 3, asked.err
    run_id = asked.document["run_id"]
    (one,) = json.loads(tuvl("runs", "list", "--waiting", "--format", "json").out)
    assert (one["run_id"], one["kind"], one["group"]) == (run_id, "question", "finance")
    assert "group finance" in tuvl("runs", "list", "--waiting").out
    refused = tuvl("resume", run_id, "--answer", "pay.yaml")
    assert refused.code == 2
    assert "somebody else has to answer" in refused.err
    done = tuvl("resume", run_id, "--answer", "pay.yaml", "--principal", "ann.yaml")
    assert done.code == 0, done.err
    assert done.document["context"]["paid"] == 7
    late = tuvl("resume", run_id, "--answer", "pay.yaml", "--principal", "ann.yaml")
    assert late.code == 2
    assert "not known to wait" in late.err
    none = tuvl("runs", "list", "--waiting")
    assert (none.out, none.err) == ("", "tuvl: no run waits for anybody\n")


def test_a_run_that_waits_is_cancelled(tuvl):
    asked = tuvl("run", "pay", "--set", "sum=7", "--events", "none")
    assert asked.code == 3, asked.err
    run_id = asked.document["run_id"]
    cancelled = tuvl("runs", "cancel", run_id, "--reason", "not wanted")
    assert cancelled.code == 4, cancelled.err
    assert [one["status"] for one in listed(tuvl)] == ["aborted"]
    assert tuvl("runs", "cancel", run_id).code == 2


def test_a_fork_begins_at_a_step_with_what_was_before_it(tuvl, server):
    port, counted = server
    first = tuvl(*w(port)).document["run_id"]
    forked = tuvl("runs", "fork", first, "--at", "inner")
    assert forked.code == 0, forked.err
    assert forked.document["run_id"] != first
    assert (counted.counts["/x/plain"], counted.counts["/x/deep"]) == (1, 2)
    wrong = tuvl("runs", "fork", first, "--at", "iner")
    assert wrong.code == 2
    assert "inner" in wrong.err


def test_a_run_in_a_file_is_forked_into_another_file(run, server, tmp_path):
    port, counted = server
    make_project(tmp_path)
    first = run.tuvl(*w(port), cwd=tmp_path).document["run_id"]
    killed = run.tuvl("runs", "fork", first, "--at", "each", cwd=tmp_path, kill="before each#1/end")
    assert killed.code == -9, killed.err
    (fork,) = {path.stem for path in (tmp_path / ".tuvl" / "runs").glob("*.sqlite")} - {first}
    resumed = run.tuvl("resume", fork, cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    assert (counted.counts["/x/plain"], counted.counts["/x/post7"], counted.counts["/x/deep"]) == (1, 2, 2)
    assert run.tuvl("replay", fork, cwd=tmp_path).document["divergence"] is None


def test_the_files_of_a_fork_are_of_use_from_its_beginning_on(run, server, tmp_path):
    make_project(tmp_path)
    first = run.tuvl(*w(server[0]), cwd=tmp_path).document["run_id"]
    (kept,) = (tmp_path / ".tuvl" / "definitions").iterdir()
    os.utime(kept, (0, 0))
    assert run.tuvl("runs", "fork", first, "--at", "inner", cwd=tmp_path).code == 0
    assert kept.stat().st_mtime > (tmp_path / ".tuvl" / "runs" / f"{first}.sqlite").stat().st_ctime - 86_400


def test_a_fork_in_a_file_asks_again_and_whoever_asked_for_the_run_before_may_not_answer(run, tmp_path):
    make_project(tmp_path)
    for name in ("ann", "bob"):
        (tmp_path / f"{name}.yaml").write_text(f"id: {name}\ngroups: [finance]\nscopes: []\n")
    (tmp_path / "pay.yaml").write_text("verdict: pay\n")
    first = run.tuvl("run", "pay", "--set", "sum=7", "--durable", cwd=tmp_path).document["run_id"]
    answered = run.tuvl("resume", first, "--answer", "pay.yaml", "--principal", "ann.yaml", cwd=tmp_path)
    assert answered.code == 0, answered.err
    forked = run.tuvl("runs", "fork", first, "--at", "sure", "--principal", "bob.yaml", cwd=tmp_path)
    assert forked.code == 3, forked.err
    fork = forked.document["run_id"]
    for who in ((), ("--principal", "bob.yaml")):
        refused = run.tuvl("resume", fork, "--answer", "pay.yaml", *who, cwd=tmp_path)
        assert refused.code == 2
        assert "somebody else has to answer" in refused.err
    answered = run.tuvl("resume", fork, "--answer", "pay.yaml", "--principal", "ann.yaml", cwd=tmp_path)
    assert answered.code == 0, answered.err
    assert answered.document["context"]["paid"] == 7


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("worker",), "set TUVL_DATABASE_URL"),
        (("run", "pay", "--set", "sum=1", "--detach"), "set TUVL_DATABASE_URL"),
        (("run", "pay", "--set", "sum=1", "--detach", "--dry-run"), "exclude each other"),
        (("runs", "fork", "nosuch", "--at", "x"), "no durable run 'nosuch'"),
        (("runs", "list", "--waiting", "--live"), "exclude each other"),
    ],
)
def test_what_cannot_be_is_said_and_is_misuse(run, tmp_path, words, said):
    ended = run.tuvl(*words, cwd=make_project(tmp_path))
    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("words", [("worker",), ("run", "pay", "--set", "sum=1"), ("resume", "x")])
def test_a_database_that_is_not_there_is_said_and_is_misuse(run, tmp_path, words):
    environ = {"TUVL_DATABASE_URL": f"postgresql://nobody@/none?host={tmp_path}"}
    ended = run.tuvl(*words, cwd=make_project(tmp_path), environ=environ)
    assert ended.code == 2
    assert "the database of durable runs cannot be used" in ended.err
    assert "Traceback" not in ended.err


def test_the_worker_command_says_what_it_does_and_leaves_on_sigterm(shared_site, tuvl, server):
    detached = tuvl(*w(server[0]), "--detach")
    environ = {**os.environ, "TUVL_DATABASE_URL": shared_site.url}
    words = [sys.executable, "-m", "tuvl", "worker", "--concurrency", "2", "--project", str(shared_site.folder)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environ, cwd=Path("/")) as worker:
        assert worker.stderr
        said = []
        for line in worker.stderr:
            said.append(line)
            if line.rstrip().endswith("completed"):
                break
        worker.send_signal(signal.SIGTERM)
        said += worker.stderr.readlines()
    assert worker.returncode == 0
    text = "".join(said)
    assert "taking up to 2 runs at a time" in text
    assert f"run {detached.document['run_id']} (w) taken" in text
    assert f"run {detached.document['run_id']} completed" in text
    assert "taking nothing new" in text
