"""Writes of records in a durable run: their transaction holds a mark, so that each takes place exactly once."""

import os
import re
import sqlite3
from pathlib import Path

import pytest

from tests.durable.test_crash_matrix import run_of
from tests.durable.test_kills import calls, project, rows

MODEL = """\
kind: ModelDefinition
metadata: { name: Payment, description: One payment. }
spec:
  tablename: payments
  fields:
    - { name: id, type: integer, primary_key: true }
    - { name: sum, type: integer, required: true }
    - { name: iban, type: string, secure: true }
"""

SAVE = """\
    - id: save
      kind: ModelOp
      description: Save.
      model: Payment
      operation: create
      payload: { sum: "{{ sum }}", iban: DE02120300000000202051 }
      output: saved
"""

AFTER = """\
    - id: change
      kind: ModelOp
      model: Payment
      operation: update
      record_id: "{{ saved.id }}"
      payload: { sum: "{{ saved.sum + 1 }}" }
      output: changed
"""


AROUND = """\
kind: Workflow
metadata: { name: w, description: Around. }
spec:
  steps:
    - { id: in, kind: Workflow, workflow: inner, input: { sum: "{{ sum }}", iban: "{{ iban }}" } }
"""


def made(folder: Path, steps: str, replies: object = ()) -> None:
    project(folder, "  context: [Payment]\n  steps:\n" + steps, replies, **{"models/payment.yaml": MODEL})
    file = folder / "workflows" / "w.yaml"
    text = file.read_text(encoding="utf-8")
    text = text.replace("origin: { type: string } }", "sum: { type: integer }, iban: { type: string } }")
    file.write_text(text.replace("[origin]", "[sum]"), encoding="utf-8")


def begun(folder: Path, run, kill: str | None, **more: object):
    words = ("run", "w", "--durable", "--set", "sum=7", "--set", "iban=DE02120300000000202051")
    ended = run.tuvl(*words, cwd=folder, kill=kill, **more)
    assert ended.code == (0 if kill is None else -9), ended.err
    return ended


def asked(folder: Path, query: str) -> list[tuple[int, ...]]:
    with sqlite3.connect(folder / ".tuvl" / "data.db") as database:
        return database.execute(query).fetchall()


def payments(folder: Path) -> list[tuple[int, ...]]:
    return asked(folder, "SELECT id, sum FROM payments ORDER BY id")


def marks(folder: Path) -> int:
    ((count,),) = asked(folder, "SELECT count(*) FROM tuvl_effects")
    return count


SHORT = ("after save#1/end!1", "before save#1/end")
ALL = (*SHORT, "after save#1/end", "before change#1/end")


@pytest.mark.parametrize("point", ALL if os.environ.get("TUVL_SOAK") else SHORT)
def test_a_write_takes_place_once_wherever_the_process_dies_and_nobody_is_asked(point, tmp_path, run):
    made(tmp_path, SAVE + AFTER)
    begun(tmp_path, run, point)
    done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    assert done.code == 0, done.err
    assert payments(tmp_path) == [(1, 8)]
    assert done.document["context"]["saved"]["sum"] == 7
    assert done.document["context"]["changed"]["sum"] == 8
    assert "DE0212" not in done.out, "what a secure field was given is masked although its step was not run here"
    assert marks(tmp_path) == 0, "a run that has ended leaves none"


@pytest.mark.parametrize("nested", [False, True], ids=["in the run", "in a workflow inside"])
def test_marks_that_another_process_made_are_taken_away_by_the_one_that_ends_the_run(nested, tmp_path, run):
    """The one that goes on takes all from the record, and has no use for the database itself."""
    made(tmp_path, SAVE)
    point = "after save#1/end"
    if nested:
        point, file = "after in#1/end", tmp_path / "workflows" / "w.yaml"
        inside = re.sub(r"name: w\b", "name: inner", file.read_text(encoding="utf-8"), count=1)
        file.write_text(f"{AROUND}---\n{inside}", encoding="utf-8")
    begun(tmp_path, run, point)
    assert marks(tmp_path) == 1
    assert run.tuvl("resume", run_of(tmp_path), cwd=tmp_path).code == 0
    assert marks(tmp_path) == 0


def test_killed_again_and_again_it_is_still_one(tmp_path, run):
    made(tmp_path, SAVE)
    begun(tmp_path, run, "before save#1/end")
    for _ in range(2):
        assert run.tuvl("resume", run_of(tmp_path), cwd=tmp_path, kill="before save#1/end").code == -9
    assert marks(tmp_path) == 1
    done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    assert done.code == 0, done.err
    assert payments(tmp_path) == [(1, 7)]


def test_items_of_a_list_and_calls_of_an_agent_have_marks_of_their_own(tmp_path, run):
    agent = """\
    - { id: each, kind: ForEach, items: [1, 2, 3], as: item, step: save, concurrency: 2, output_key: all }
    - id: agent
      kind: Agent
      mode: autonomous
      description: Do.
      agent:
        model: m
        steering: Do it.
        tools: [{ ref: save, parameters: { type: object, properties: {} } }]
      routes: { default: END }
"""
    made(tmp_path, agent + SAVE, [calls(("c1", "save"), ("c2", "save")), {"text": "done"}])
    begun(tmp_path, run, "before each#1/[1]/end")
    assert run.tuvl("resume", run_of(tmp_path), cwd=tmp_path, kill="before agent#1/tool.save.c2#1/end").code == -9
    done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    assert done.code == 0, done.err
    assert payments(tmp_path) == [(number, 7) for number in range(1, 6)]


def test_where_no_mark_can_be_kept_a_person_is_asked_as_ever(tmp_path, run):
    made(tmp_path, SAVE)
    begun(tmp_path, run, "before save#1/end", no_marks=True)
    waiting = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    assert waiting.code == 3, waiting.err
    assert waiting.document["error"]["type"] == "outcome_unknown", "what was begun without a mark has none"
    (tmp_path / "set.json").write_text('{"saved": {"id": 1, "sum": 7}}', encoding="utf-8")
    words = ("resume", run_of(tmp_path), "--outcome", "done", "--answer", "set.json")
    done = run.tuvl(*words, cwd=tmp_path)
    assert done.code == 0, done.err
    assert payments(tmp_path) == [(1, 7)]


def test_a_mark_that_can_be_looked_for_no_longer_has_a_person_asked(tmp_path, run):
    made(tmp_path, SAVE)
    begun(tmp_path, run, "before save#1/end")
    waiting = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path, no_marks=True)
    assert waiting.code == 3, waiting.err
    done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    assert done.code == 0, done.err
    assert payments(tmp_path) == [(1, 7)]


def test_a_write_that_the_database_refuses_leaves_no_mark_and_runs_without_a_record_keep_none(tmp_path, run):
    made(tmp_path, SAVE.replace('"{{ sum }}"', "null"))
    refused = run.tuvl("run", "w", "--durable", "--set", "sum=7", cwd=tmp_path)
    assert refused.code == 1, refused.err
    assert marks(tmp_path) == 0
    assert "save#1/end" in rows(tmp_path)
