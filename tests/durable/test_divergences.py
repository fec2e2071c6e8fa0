"""Replayed against files that have changed, a record names the first call that would ask for something else."""

import json
import sys
from pathlib import Path

import pytest

from tests.durable.durable_project import counting
from tests.durable.test_crash_matrix import run_of
from tests.durable.test_kills import begun, project
from tests.mcp.mcp_support import ODD

CALL = """\
  steps:
    - id: say
      kind: MCP
      mcp: { server: "artifact://odd", tool: say, arguments: { result: { content: [{ type: text, text: hello }] } } }
      response: { output_key: said }
    - { id: done, kind: Functional, runner: set, values: { heard: "{{ said }}" } }
"""
RECORDS = """\
  context: [Payment, Refund]
  steps:
    - id: save
      kind: ModelOp
      model: Payment
      operation: create
      payload: { sum: 7 }
      output: saved
    - id: change
      kind: ModelOp
      model: Payment
      operation: update
      record_id: "{{ saved.id }}"
      payload: { sum: 8 }
      output: changed
    - id: look
      kind: ModelOp
      model: Payment
      operation: list
      filters: { sum: { gte: 1 } }
      order_by: [id]
      limit: 5
      output: found
"""
MODEL = """\
kind: ModelDefinition
metadata: {{ name: {name}, description: One. }}
spec:
  tablename: {table}
  fields:
    - {{ name: id, type: integer, primary_key: true }}
    - {{ name: sum, type: integer, required: true }}
"""


def artifact(*habits: str) -> str:
    spec = {"type": "mcp", "transport": "stdio", "command": sys.executable, "args": [str(ODD), *habits]}
    return json.dumps({"kind": "Artifact", "metadata": {"name": "odd", "version": 1}, "spec": spec})


def calling(folder: Path) -> None:
    project(folder, CALL, **{"artifacts/odd.yaml": artifact(f"log={folder / 'log'}")})


def keeping(folder: Path) -> None:
    models = {
        f"models/{name}.yaml": MODEL.format(name=name, table=f"{name.lower()}s") for name in ("Payment", "Refund")
    }
    project(folder, RECORDS, **models)


def edit(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def divergence(folder: Path, run) -> dict | None:
    replayed = run.tuvl("replay", run_of(folder), "--against", "w", cwd=folder)
    found = replayed.document["divergence"]
    assert replayed.code == (0 if found is None else 1), replayed.err
    return found


FLOW = "workflows/w.yaml"


@pytest.mark.parametrize(
    ("file", "old", "new", "parts"),
    [
        (FLOW, "text: hello", "text: goodbye", True),
        (FLOW, "tool: say,", "tool: reflect,", True),
        ("artifacts/odd.yaml", "log=", "other=", True),
        (FLOW, "{ id: done,", "{ id: ended,", False),
    ],
    ids=["arguments", "tool", "server", "not the call"],
)
def test_a_call_of_a_server_that_would_be_another_one_is_where_the_files_part(file, old, new, parts, tmp_path, run):
    calling(tmp_path)
    with counting() as (port, _):
        assert begun(tmp_path, run, port).code == 0
    assert divergence(tmp_path, run) is None
    edit(tmp_path, file, old, new)
    found = divergence(tmp_path, run)
    if not parts:
        assert found is None
        return
    assert found is not None
    assert found["at"] == "say#1/end"
    assert "tool and arguments" in found["why"]


@pytest.mark.parametrize(
    ("file", "old", "new", "at"),
    [
        (FLOW, "sum: 7", "sum: 9", "save#1/end"),
        (FLOW, "model: Payment", "model: Refund", "save#1/end"),
        ("models/Payment.yaml", "tablename: payments", "tablename: paid", "save#1/end"),
        (FLOW, "sum: 8", "sum: 9", "change#1/end"),
        (FLOW, '"{{ saved.id }}"', '"{{ saved.sum }}"', "change#1/end"),
        (FLOW, "gte: 1", "gte: 2", "look#1/end"),
        (FLOW, "order_by: [id]", "order_by: [-id]", "look#1/end"),
        (FLOW, "limit: 5", "limit: 6", "look#1/end"),
    ],
    ids=["payload", "model", "table", "payload of a change", "record", "filters", "order", "limit"],
)
def test_an_operation_on_records_that_would_be_another_one_is_where_the_files_part(file, old, new, at, tmp_path, run):
    keeping(tmp_path)
    with counting() as (port, _):
        assert begun(tmp_path, run, port).code == 0
    assert divergence(tmp_path, run) is None
    edit(tmp_path, file, old, new)
    found = divergence(tmp_path, run)
    assert found is not None
    assert found["at"] == at
    assert "or records" in found["why"]
