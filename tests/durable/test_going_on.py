"""What `tuvl resume` and its kin make of a run that waits, was lost, has ended, or was begun with other files."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.durable.durable_project import make_project
from tests.durable.test_crash_matrix import run_of

LOST = "after plain#1/end!1"
"""A point at which an effect without a key has begun, and nobody knows its end."""


def start(folder: Path, run, port: int, *more: str, kill: str | None = None):
    words = ("run", "w", "--durable", "--set", f"origin={port}", "--set", "case=x", *more)
    return run.tuvl(*words, cwd=folder, kill=kill)


def lost(folder: Path, run, port: int, at: str = LOST) -> str:
    make_project(folder)
    assert start(folder, run, port, kill=at).code == -9
    return run_of(folder)


def test_outcome_done_goes_on_with_what_the_person_says_that_the_step_had_set(tmp_path, run, server):
    port, counted = server
    run_id = lost(tmp_path, run, port)
    (tmp_path / "set.json").write_text('{"plain": {"id": 7}}', encoding="utf-8")
    done = run.tuvl("resume", run_id, "--outcome", "done", "--answer", "set.json", cwd=tmp_path)
    assert "not known to wait" in done.err  # it has to be asked first, so that the answer is to what was asked
    assert run.tuvl("resume", run_id, cwd=tmp_path).code == 3
    done = run.tuvl("resume", run_id, "--outcome", "done", "--answer", "set.json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.document["context"]["plain"] == {"id": 7}
    assert counted.counts["/x/plain"] == 0


def test_outcome_failed_goes_on_with_the_error_of_the_step(tmp_path, run, server):
    port, counted = server
    run_id = lost(tmp_path, run, port)
    assert run.tuvl("resume", run_id, cwd=tmp_path).code == 3
    failed = run.tuvl("resume", run_id, "--outcome", "failed", cwd=tmp_path)
    assert failed.code == 1
    assert failed.document["error"]["type"] == "not_done"
    assert failed.document["error"]["step"] == "plain"
    assert counted.counts["/x/plain"] == 0


def test_a_retry_that_is_lost_as_well_is_asked_about_anew(tmp_path, run, server):
    port, counted = server
    run_id = lost(tmp_path, run, port)
    assert run.tuvl("resume", run_id, cwd=tmp_path).code == 3
    again = run.tuvl("resume", run_id, "--outcome", "retry", cwd=tmp_path, kill="before plain#1/end")
    assert again.code == -9
    assert counted.counts["/x/plain"] == 1
    waiting = run.tuvl("resume", run_id, cwd=tmp_path)
    assert waiting.code == 3
    assert waiting.document["error"]["detail"]["wait"] == "plain#1/end!2?"
    assert run.tuvl("resume", run_id, "--outcome", "done", cwd=tmp_path).code == 0
    assert counted.counts["/x/plain"] == 1


def test_a_run_whose_process_was_lost_is_told_from_one_that_goes_on(tmp_path, run, server):
    run_id = lost(tmp_path, run, server[0])
    (listed,) = json.loads(run.tuvl("runs", "list", "--format", "json", cwd=tmp_path).out)
    assert (listed["status"], listed["process"]) == ("running", "gone")
    assert "running (process gone)" in run.tuvl("runs", "list", cwd=tmp_path).out
    assert f"tuvl resume {run_id}" in run.tuvl("runs", "show", run_id, cwd=tmp_path).out
    run.tuvl("resume", run_id, cwd=tmp_path)
    assert "suspended" in run.tuvl("runs", "list", cwd=tmp_path).out


def test_a_run_goes_on_with_the_files_it_was_started_with_and_says_that_they_have_changed(tmp_path, run, server):
    port, counted = server
    run_id = lost(tmp_path, run, port, "after keyed#1/end")
    file = tmp_path / "workflows" / "w.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("/plain", "/other"), encoding="utf-8")
    done = run.tuvl("resume", run_id, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "not those that the run was started with" in done.err
    assert counted.counts["/x/plain"] == 1
    assert counted.counts["/x/other"] == 0


def edit(folder: Path, old: str, new: str) -> None:
    file = folder / "workflows" / "w.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_run_goes_on_with_new_files_where_they_would_have_come_to_the_same(tmp_path, run, server):
    port, counted = server
    run_id = lost(tmp_path, run, port, "before agent#1/turn.m#2")
    edit(tmp_path, "/deep", "/deeper")
    done = run.tuvl("resume", run_id, "--on-new-definition", cwd=tmp_path, kill="after agent#1/end")
    assert done.code == -9, done.err
    edit(tmp_path, "/deeper", "/deepest")
    done = run.tuvl("resume", run_id, cwd=tmp_path)  # what it has been moved to is what it goes on with
    assert done.code == 0, done.err
    assert (counted.counts["/x/deep"], counted.counts["/x/deeper"], counted.counts["/x/deepest"]) == (0, 1, 0)
    assert (counted.counts["/x/plain"], counted.counts["/x/pay1"]) == (1, 1)


@pytest.mark.parametrize(
    ("old", "new", "at"),
    [
        ("id: plain", "id: simple", "plain#1/end"),
        ("steering: Pay.", "steering: Pay well.", "agent#1/turn.m#1"),
        (
            "required: [origin, case]\n  steps:\n    - { id: begin",
            "required: [more]\n  steps:\n    - { id: begin",
            "input",
        ),
    ],
)
def test_new_files_that_part_from_the_record_are_refused_by_the_first_entry_that_differs(
    old, new, at, tmp_path, run, server
):
    port, counted = server
    run_id = lost(tmp_path, run, port, "before agent#1/turn.m#2")
    edit(tmp_path, old, new)
    before = dict(counted.counts)
    refused = run.tuvl("resume", run_id, "--on-new-definition", cwd=tmp_path)
    assert refused.code == 2, refused.err
    assert f"part from its record at {at!r}" in refused.err
    assert dict(counted.counts) == before
    assert run.tuvl("resume", run_id, cwd=tmp_path).code == 0


def test_replay_compares_a_record_with_a_workflow_and_does_nothing(tmp_path, run, server):
    port, counted = server
    make_project(tmp_path)
    assert start(tmp_path, run, port).code == 0
    before = dict(counted.counts)
    same = run.tuvl("replay", run_of(tmp_path), cwd=tmp_path)
    assert same.code == 0, same.err
    assert same.document["divergence"] is None
    edit(tmp_path, "items: [7, 8]", "items: [7]")
    other = run.tuvl("replay", run_of(tmp_path), "--against", "w", cwd=tmp_path)
    assert other.code == 1, other.err
    assert other.document["divergence"]["at"] == "each#1/[1]/end"
    assert dict(counted.counts) == before


def test_a_kept_definition_that_somebody_changed_is_not_used(tmp_path, run, server):
    run_id = lost(tmp_path, run, server[0], "after keyed#1/end")
    file = tmp_path / "workflows" / "w.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("/plain", "/other"), encoding="utf-8")
    (kept,) = (tmp_path / ".tuvl" / "definitions").glob("*/workflows/w.yaml")
    kept.write_text(kept.read_text(encoding="utf-8").replace("/plain", "/evil"), encoding="utf-8")
    refused = run.tuvl("resume", run_id, cwd=tmp_path)
    assert refused.code == 2
    assert "was changed" in refused.err
    assert refused.out == ""


def test_a_run_that_has_ended_is_told_again_and_not_run_again(tmp_path, run, server):
    port, counted = server
    make_project(tmp_path)
    first = start(tmp_path, run, port)
    again = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    assert again.code == first.code == 0
    assert again.document == first.document
    assert "ended already" in again.err
    assert counted.counts["/x/plain"] == 1


def test_cancel_ends_a_run_that_waits_as_aborted_and_does_nothing_more(tmp_path, run, server):
    port, counted = server
    run_id = lost(tmp_path, run, port)
    assert run.tuvl("resume", run_id, cwd=tmp_path).code == 3
    done = run.tuvl("runs", "cancel", run_id, "--reason", "no longer wanted", cwd=tmp_path)
    assert done.code == 4, done.err
    assert done.document["status"] == "aborted"
    assert done.document["error"]["message"] == "no longer wanted"
    assert counted.counts["/x/plain"] == 0
    assert run.tuvl("resume", run_id, cwd=tmp_path).code == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("resume", "nothing"), "there is no durable run 'nothing'"),
        (("resume", "../../etc"), "is no id of a run"),
        (("resume", "RUN", "--outcome", "done"), "not known to wait"),
        (("resume", "RUN", "--answer", "gone.json"), "not known to wait"),
        (("approve", "RUN"), "not known to wait"),
        (("resume", "RUN", "--project", "nowhere"), "which is no folder"),
        (("resume", "RUN", "--output", "workflows"), "workflows"),
    ],
)
def test_a_mistake_at_the_terminal_is_told_in_a_line(words, message, tmp_path, run, server):
    run_id = lost(tmp_path, run, server[0])
    done = run.tuvl(*(run_id if word == "RUN" else word for word in words), cwd=tmp_path)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


ASKING = """\
kind: Workflow
metadata: { name: ask, description: Ask somebody. }
spec:
  input: { type: object, properties: { sum: { type: integer } }, required: [sum] }
  steps:
    - id: sure
      kind: HumanInTheLoop
      ui: { title: "Pay {{ sum }}?", display_context: [sum] }
      human_feedback:
        - { name: verdict, type: choice, choices: [yes_pay, no] }
        - { name: note, type: text, required: false }
      signal_from: verdict
      auth: { required_group: finance }
      routes: { yes_pay: pay, no: END, timeout: late }
    - { id: pay, kind: Functional, runner: set, values: { paid: true }, routes: { default: END } }
    - { id: late, kind: Functional, runner: set, values: { late: true } }
"""

IN_TIME = ASKING.replace("      signal_from", "      timeout_s: 3600\n      signal_from")
"""The question waits for an hour."""


def asking(folder: Path, run, text: str = ASKING) -> str:
    (folder / "workflows").mkdir(parents=True)
    (folder / "workflows" / "ask.yaml").write_text(text, encoding="utf-8")
    for who, group in (("ann", "finance"), ("bob", "sales"), ("me", "finance")):
        (folder / f"{who}.json").write_text(json.dumps({"id": who, "groups": [group]}), encoding="utf-8")
    waiting = run.tuvl("run", "ask", "--set", "sum=7", "--principal", "me.json", cwd=folder)
    assert waiting.code == 3, waiting.err
    assert waiting.document["status"] == "suspended"
    assert waiting.document["error"]["detail"]["asked"]["shown"] == {"sum": 7}
    return run_of(folder)


def answer(folder: Path, **values: object) -> str:
    (folder / "answer.json").write_text(json.dumps(values), encoding="utf-8")
    return "answer.json"


def test_a_question_waits_for_an_answer_and_its_signal_is_routed(tmp_path, run):
    run_id = asking(tmp_path, run)
    done = run.tuvl(
        "resume", run_id, "--answer", answer(tmp_path, verdict="yes_pay"), "--principal", "ann.json", cwd=tmp_path
    )
    assert done.code == 0, done.err
    assert done.document["context"] == {"sum": 7, "sure_result": {"verdict": "yes_pay"}, "paid": True}
    second = run.tuvl(
        "resume", run_id, "--answer", answer(tmp_path, verdict="no"), "--principal", "ann.json", cwd=tmp_path
    )
    assert second.code == 2
    assert second.out == ""


@pytest.mark.parametrize(
    ("who", "values", "message"),
    [
        ("bob", {"verdict": "no"}, "it needs the group 'finance'"),
        ("me", {"verdict": "no"}, "has asked for this"),
        ("ann", {"verdict": "perhaps"}, "is none of yes_pay, no"),
        ("ann", {}, "'verdict' is missing"),
        ("ann", {"verdict": "no", "note": 3}, "'note' is no text"),
        ("ann", {"verdict": "no", "more": 3}, "'more', which is not asked"),
    ],
)
def test_an_answer_that_is_none_is_refused_and_the_run_waits_on(who, values, message, tmp_path, run):
    run_id = asking(tmp_path, run)
    refused = run.tuvl(
        "resume", run_id, "--answer", answer(tmp_path, **values), "--principal", f"{who}.json", cwd=tmp_path
    )
    assert refused.code == 2
    assert message in refused.err
    assert run.tuvl("resume", run_id, cwd=tmp_path).code == 3


def test_a_question_that_nobody_answers_in_time_leaves_on_timeout(tmp_path, run):
    run_id = asking(tmp_path, run, IN_TIME)
    assert run.tuvl("resume", run_id, cwd=tmp_path, later_s=3000).code == 3
    late = run.tuvl("resume", run_id, cwd=tmp_path, later_s=3601)
    assert late.code == 0, late.err
    assert late.document["context"] == {"sum": 7, "late": True}


def test_an_answer_that_comes_too_late_does_not_count_and_is_told_so(tmp_path, run):
    run_id = asking(tmp_path, run, IN_TIME)
    words = ("resume", run_id, "--answer", answer(tmp_path, verdict="yes_pay"), "--principal", "ann.json")
    late = run.tuvl(*words, cwd=tmp_path, later_s=3601)
    assert late.code == 0, late.err
    assert "the answer was not used" in late.err
    assert late.document["context"] == {"sum": 7, "late": True}


def test_an_answer_in_time_counts_although_the_run_goes_on_later(tmp_path, run):
    run_id = asking(tmp_path, run, IN_TIME)
    words = ("resume", run_id, "--answer", answer(tmp_path, verdict="yes_pay"), "--principal", "ann.json")
    assert run.tuvl(*words, cwd=tmp_path, later_s=3000, kill="after sure#1/answer").code == -9
    done = run.tuvl("resume", run_id, cwd=tmp_path, later_s=7200)
    assert done.code == 0, done.err
    assert done.document["context"]["paid"] is True


def test_an_answer_to_what_was_asked_before_is_none(tmp_path, run):
    """The digest: what was shown is another thing by now, since the store tells an older question."""
    run_id = asking(tmp_path, run)
    with sqlite3.connect(tmp_path / ".tuvl" / "runs.db") as database:
        (text,) = database.execute("SELECT result FROM tuvl_runs").fetchone()
        result = json.loads(text)
        result["error"]["detail"]["digest"] = "0" * 64
        database.execute("UPDATE tuvl_runs SET result = ?", (json.dumps(result),))
    words = ("resume", run_id, "--answer", answer(tmp_path, verdict="yes_pay"), "--principal", "ann.json")
    refused = run.tuvl(*words, cwd=tmp_path)
    assert refused.code == 3, refused.err
    assert "the answer was not used" in refused.err
    assert "paid" not in refused.document["context"]
    done = run.tuvl(*words, cwd=tmp_path)  # which is to what is asked now
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[1]", "no mapping"),
        ("{ broken", "answer.yaml"),
        ("", "is empty"),
        ("_x: 1", "engine's"),
        (None, "answer.yaml"),
    ],
)
def test_a_file_that_is_no_answer_is_told_in_a_line(text, told, tmp_path, run):
    run_id = asking(tmp_path, run)
    if text is not None:
        (tmp_path / "answer.yaml").write_text(text, encoding="utf-8")
    refused = run.tuvl("resume", run_id, "--answer", "answer.yaml", "--principal", "ann.json", cwd=tmp_path)
    assert (refused.code, refused.out) == (2, "")
    assert told in refused.err
    assert "Traceback" not in refused.err


def test_an_answer_of_the_wrong_kind_is_refused_with_the_right_command(tmp_path, run):
    run_id = asking(tmp_path, run)
    for words in (("approve", run_id), ("resume", run_id, "--outcome", "done")):
        refused = run.tuvl(*words, cwd=tmp_path)
        assert refused.code == 2, refused.err
        assert f"tuvl resume {run_id} --answer FILE" in refused.err


@pytest.mark.parametrize("outcome", ["done", "retry", "failed"])
def test_what_became_of_a_step_is_no_answer_to_a_question(outcome, tmp_path, run):
    run_id = asking(tmp_path, run)
    words = ("resume", run_id, "--outcome", outcome, "--answer", answer(tmp_path, verdict="yes_pay"))
    refused = run.tuvl(*words, "--principal", "ann.json", cwd=tmp_path)
    assert (refused.code, refused.out) == (2, "")
    assert "--outcome does not fit" in refused.err
    assert run.tuvl("resume", run_id, cwd=tmp_path).code == 3


def test_the_record_is_for_its_owner_alone_and_is_json_throughout(tmp_path, run, server):
    make_project(tmp_path)
    start(tmp_path, run, server[0])
    file = tmp_path / ".tuvl" / "runs" / f"{run_of(tmp_path)}.sqlite"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    with sqlite3.connect(file) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        rows = database.execute("SELECT output, serialization FROM operation_outputs").fetchall()
        (version,) = database.execute("SELECT application_version FROM workflow_status").fetchone()
    assert version == "tuvl-journal-1"
    assert {kind for _, kind in rows} == {"portable_json"}
    assert all({"v", "t", "value"} <= json.loads(row).keys() for row, _ in rows)


def test_a_row_that_says_it_is_pickled_is_not_unpickled(tmp_path, run, server):
    """The library would run what is in it, whatever serializer is set."""
    import base64
    import pickle

    class Bomb:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "boom"),))

    run_id = lost(tmp_path, run, server[0], "after plain#1/end")
    with sqlite3.connect(tmp_path / ".tuvl" / "runs" / f"{run_id}.sqlite") as database:
        database.execute(
            "UPDATE operation_outputs SET output = ?, serialization = 'py_pickle' WHERE function_name = 'plain#1/end'",
            (base64.b64encode(pickle.dumps(Bomb())).decode(),),
        )
    done = run.tuvl("resume", run_id, cwd=tmp_path)
    assert not (tmp_path / "boom").exists()
    assert done.code != 0
    assert "Traceback" not in done.err


def test_one_process_at_a_time_has_a_run(tmp_path, run, server):
    import fcntl

    run_id = lost(tmp_path, run, server[0])
    with open(tmp_path / ".tuvl" / "runs" / f"{run_id}.lock", "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        refused = run.tuvl("resume", run_id, cwd=tmp_path)
        (listed,) = json.loads(run.tuvl("runs", "list", "--format", "json", cwd=tmp_path).out)
    assert refused.code == 2
    assert "goes on in another process" in refused.err
    assert "process" not in listed


def test_plain_runs_and_checks_import_none_of_it(tmp_path, run, server):
    make_project(tmp_path)
    code = (
        "import sys; from tuvl.__main__ import main; main(sys.argv[1:]);"
        "print([name for name in ('dbos', 'psycopg', 'tuvl.durable') if name in sys.modules])"
    )
    for words in (("validate",), ("run", "w", "--set", f"origin={server[0]}", "--set", "case=x", "--output", "o.json")):
        done = subprocess.run(
            [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout.rstrip().endswith("[]"), done.stdout


def test_without_the_extra_one_line_says_what_to_install_and_nothing_is_left_behind(tmp_path):
    make_project(tmp_path)
    code = "import sys; sys.modules['dbos'] = None; from tuvl.__main__ import main; sys.exit(main(sys.argv[1:]))"
    words = ("run", "w", "--set", "origin=1", "--set", "case=x", "--durable", "--events", "none")
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'tuvl[durable]'" in done.stderr
    assert not (tmp_path / ".tuvl" / "runs").exists()


def test_run_that_has_ended_is_told_again_whatever_newer_files_say(tmp_path, run, server):
    port, _ = server
    make_project(tmp_path)
    done = start(tmp_path, run, port)
    edit(tmp_path, "id: plain", "id: simple")
    again = run.tuvl("resume", run_of(tmp_path), "--on-new-definition", cwd=tmp_path)
    assert again.code == done.code == 0, again.err
    assert again.document == done.document
    assert "the run had ended already: completed" in again.err
