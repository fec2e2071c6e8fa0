"""`tuvl runs prune` deletes what ended long ago, and says so; whatever may still be needed stays."""

import json
from pathlib import Path

import pytest

from tests.durable.processes import Processes
from tests.durable.test_kills import project
from tuvl.errors import ConfigError
from tuvl.settings import load_settings

SET = "  steps:\n    - { id: a, kind: Functional, runner: set, values: { found: 1 } }\n"
ASK = (
    "  steps:\n    - id: sure\n      kind: HumanInTheLoop\n      ui: { title: Sure? }\n"
    "      human_feedback: [{ name: verdict, type: text }]\n"
)
MONTH_S = 31 * 86_400.0


def started(folder: Path, run: Processes) -> str:
    return run.tuvl("run", "w", "--durable", "--set", "origin=1", "--events", "none", cwd=folder).document["run_id"]


def pruned(folder: Path, run: Processes, *more: str, later_s: float = MONTH_S) -> dict:
    ended = run.tuvl("runs", "prune", "--older-than", "30d", "--format", "json", *more, cwd=folder, later_s=later_s)
    assert ended.code == 0, ended.err
    return {name: ended.document[name] for name in ("runs", "definitions", "dry_run")}


def files(folder: Path) -> set[str]:
    return {path.stem for path in (folder / ".tuvl" / "runs").iterdir()}


def listed(folder: Path, run: Processes) -> set[str]:
    return {one["run_id"] for one in json.loads(run.tuvl("runs", "list", "--format", "json", cwd=folder).out)}


def test_a_run_in_a_file_is_deleted_with_its_file_and_its_definition(tmp_path, run):
    project(tmp_path, SET)
    run_id = started(tmp_path, run)
    assert pruned(tmp_path, run, "--yes", later_s=0.0) == {"runs": 0, "definitions": 0, "dry_run": False}
    assert pruned(tmp_path, run, "--dry-run")["runs"] == 1
    assert listed(tmp_path, run) == files(tmp_path) == {run_id}
    assert pruned(tmp_path, run, "--yes") == {"runs": 1, "definitions": 1, "dry_run": False}
    assert listed(tmp_path, run) == files(tmp_path) == set()
    assert not list((tmp_path / ".tuvl" / "definitions").iterdir())


def test_a_run_in_a_file_that_waits_stays_with_its_definition_and_goes_on(tmp_path, run):
    project(tmp_path, ASK)
    run_id = started(tmp_path, run)
    project(tmp_path, SET)
    ended = started(tmp_path, run)
    assert files(tmp_path) == {run_id, ended}
    assert pruned(tmp_path, run, "--yes") == {"runs": 1, "definitions": 0, "dry_run": False}
    assert files(tmp_path) == {run_id}
    (tmp_path / "answer.yaml").write_text("verdict: yes, it is\n", encoding="utf-8")
    gone_on = run.tuvl("resume", run_id, "--answer", "answer.yaml", cwd=tmp_path)
    assert (gone_on.code, gone_on.document["status"]) == (0, "completed")


def test_a_run_in_a_file_that_failed_for_want_of_room_stays_since_it_can_be_resumed(tmp_path, run):
    steps = "".join(f"    - {{ id: s{number}, kind: Functional, runner: wide }}\n" for number in range(3))
    node = 'from tuvl import node\n\n@node("wide", effects="read")\ndef wide(ctx):\n    return {"x": "y" * 200_000}\n'
    project(tmp_path, f"  steps:\n{steps}", **{"nodes/wide.py": node})
    words = ("run", "w", "--durable", "--set", "origin=1", "--events", "none")
    failed = run.tuvl(*words, cwd=tmp_path, pages=160).document
    assert (failed["status"], failed["error"]["type"]) == ("failed", "record_failed")
    assert pruned(tmp_path, run, "--yes")["runs"] == 0
    assert run.tuvl("resume", failed["run_id"], cwd=tmp_path).document["status"] == "completed"


def test_a_run_that_is_not_durable_is_deleted_from_the_store_of_runs(tmp_path, run):
    agent = (
        "  steps:\n    - id: a\n      kind: Agent\n      mode: autonomous\n      description: Say it.\n"
        "      agent: { model: m, steering: Say it., max_iterations: 2, audit: true, tools: [{ ref: note }] }\n"
        "    - { id: note, kind: Functional, description: Note it., runner: set, values: { noted: 1 } }\n"
    )
    project(tmp_path, agent, replies=[{"text": "it"}])
    ended = run.tuvl("run", "w", "--set", "origin=1", "--events", "none", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert listed(tmp_path, run) == {ended.document["run_id"]}
    assert pruned(tmp_path, run, "--yes", "--status", "failed")["runs"] == 0
    assert pruned(tmp_path, run, "--yes", "--workflow", "other")["runs"] == 0
    assert pruned(tmp_path, run, "--yes", "--status", "completed", "--workflow", "w")["runs"] == 1
    assert listed(tmp_path, run) == set()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--older-than", "30d"), "say --yes to delete, or --dry-run"),
        (("--older-than", "1h", "--yes"), "kept for a day at least"),
        (("--older-than", "soon", "--yes"), "takes hours or days such as 24h or 30d"),
        (("--yes",), "--older-than"),
    ],
)
def test_what_cannot_be_meant_deletes_nothing_and_says_why(tmp_path, run, words, why):
    project(tmp_path, SET)
    run_id = started(tmp_path, run)
    ended = run.tuvl("runs", "prune", *words, cwd=tmp_path, later_s=MONTH_S)
    assert ended.code == 2
    assert why in ended.err
    assert files(tmp_path) == {run_id}


def test_a_project_without_runs_has_nothing_to_delete_and_gets_no_files_by_it(tmp_path, run):
    project(tmp_path, SET)
    assert pruned(tmp_path, run, "--yes") == {"runs": 0, "definitions": 0, "dry_run": False}
    assert not (tmp_path / ".tuvl").exists()


def test_how_long_runs_are_kept_is_a_setting_of_a_day_and_more_and_for_ever_without_it():
    assert load_settings({}).runs_kept_s is None
    assert load_settings({"TUVL_RUNS_KEPT_FOR": "30d"}).runs_kept_s == 30 * 86_400
    for wrong in ("1h", "0d", "soon", "30"):
        with pytest.raises(ConfigError, match="TUVL_RUNS_KEPT_FOR"):
            load_settings({"TUVL_RUNS_KEPT_FOR": wrong})
