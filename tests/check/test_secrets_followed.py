"""A value that goes into a secure field is followed to prompts and logs, and what only stands beside it is not told."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.check.project_files import write
from tuvl.check.runner import check_paths

Step = dict[str, Any]
MODEL = """\
kind: ModelDefinition
metadata: { name: Customer }
spec:
  tablename: customers
  fields:
    - { name: id, type: uuid, primary_key: true }
    - { name: name, type: string }
    - { name: tax_number, type: string, secure: true }
    - { name: papers, type: jsonb, secure: true }
"""
TEXT = {"type": "string", "maxLength": 20}
RECORD = {"type": "object", "additionalProperties": False, "properties": {"tax_number": TEXT, "name": TEXT}}
INPUT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["tax", "name", "cust", "rows"],
    "properties": {
        "tax": TEXT,
        "name": TEXT,
        "cust": {"$ref": "#/$defs/cust"},
        "rows": {"type": "array", "items": RECORD},
        "open": {"type": "object"},
        "shut": {"type": "object", "additionalProperties": False, "properties": {"name": TEXT}},
    },
    "$defs": {"cust": RECORD},
}


def sets(name: str, **values: Any) -> Step:
    return {"id": name, "kind": "Functional", "runner": "set", "values": values}


def log(message: str) -> Step:
    return {"id": "note", "kind": "Functional", "runner": "log", "message": message}


def put(payload: Any, **more: Any) -> Step:
    return {"id": "put", "kind": "ModelOp", "model": "Customer", "operation": "create", "payload": payload, **more}


def store(value: str) -> Step:
    return put({"tax_number": value, "name": "{{ name }}"})


def flow(name: str, *steps: Step) -> str:
    spec = {"context": "Customer", "input": INPUT, "steps": [*steps]}
    return yaml.safe_dump({"kind": "Workflow", "metadata": {"name": name}, "spec": spec}, sort_keys=False)


EACH: Step = {"id": "each", "kind": "ForEach", "items": "{{ rows }}", "as": "row", "step": "put", "output_key": "done"}
MADE = sets("c", r=["{{ name }}", "{{ tax }}"])
AGENT: Step = {"id": "note", "kind": "Agent", "mode": "completion", "agent": {"model": "openai/x", "prompt": "x"}}
ALONE: Step = {
    "id": "note",
    "kind": "Agent",
    "mode": "autonomous",
    "agent": {"model": "openai/x", "steering": "x", "tools": [{"ref": "look"}]},
}
LOOK: Step = {"id": "look", "kind": "APICall", "http": {"url": "https://x.example"}}


def inner(workflow: str, **given: Any) -> Step:
    return {"id": "run", "kind": "Workflow", "workflow": workflow, "input": given, "output_key": "x"}


def agent(**fields: Any) -> Step:
    return {**AGENT, "agent": {**AGENT["agent"], **fields}}


def exposed(tmp_path: Path, *steps: Step) -> list[str]:
    others = flow("vault", store("{{ tax }}")) + "---\n" + flow("diary", log("it is {{ tax }}"))
    others += "---\n" + flow("second", log("it is {{ both[1] }}"))
    files = {"tuvl.yaml": "kind: ProjectConfig\n", "c.yaml": MODEL, "o.yaml": others, "w.yaml": flow("w", *steps)}
    report = check_paths([write(tmp_path, files)], select=["TV506"])
    return [finding.message for finding in report.findings if finding.file.endswith("w.yaml")]


SHOWN: list[tuple[str, tuple[Step, ...], str]] = [
    ("source of a copy", (sets("c", t="{{ tax }}"), store("{{ t }}"), log("{{ tax }}")), "tax"),
    ("copy", (sets("c", t="{{ tax | trim }}"), log("{{ t }}"), store("{{ tax }}")), "t"),
    ("copy of what is stored", (store("{{ tax }}"), sets("c", t="no {{ tax }}"), log("{{ t }}")), "t"),
    ("field of a record", (put("{{ cust }}"), log("{{ cust.tax_number }}")), "cust.tax_number"),
    ("record whose schema names it", (put("{{ cust }}"), log("{{ cust }}")), "cust"),
    ("field of any record", (put("{{ open }}"), log("{{ open.tax_number }}")), "open.tax_number"),
    ("record that is made", (sets("c", r={"tax_number": "{{ tax }}"}), put("{{ r }}"), log("{{ tax }}")), "tax"),
    ("record that was made", (sets("c", r={"tax_number": "{{ tax }}"}), put("{{ r }}"), log("{{ r }}")), "r"),
    ("item of a list", (EACH, store("{{ row.tax_number }}"), log("{{ rows[1].tax_number }}")), "rows.1.tax_number"),
    ("item by its argument", (EACH, store("{{ args.row.tax_number }}"), log("{{ rows }}")), "rows"),
    ("items in a loop", (EACH, put("{{ row }}"), log("{% for r in rows %}{{ r.tax_number }}{% endfor %}")),
     "rows.0.tax_number"),
    ("attribute of items", (EACH, put("{{ row }}"), log("{{ rows | map(attribute='tax_number') | join }}")),
     "rows.0.tax_number"),
    ("result of a list", (
        {**EACH, "step": "make"}, sets("make", t="{{ row.tax_number }}"),
        {**EACH, "id": "all", "as": "one", "output_key": "kept"}, store("{{ one.tax_number }}"),
        log("{{ done[0].t }}")), "done.0.t"),
    ("item of a list that is made", (MADE, store("{{ tax }}"), log("{{ r[1] }}")), "r.1"),
    ("list that is made", (MADE, store("{{ tax }}"), log("{{ r }}")), "r"),
    ("last item of a list that is made", (MADE, store("{{ tax }}"), log("{{ r[-1] }}")), "r"),
    ("some item of a list that is made", (MADE, store("{{ tax }}"), log("{{ r[name | int] }}")), "r"),
    ("items of a list that is made, in a loop", (MADE, store("{{ tax }}"), log("{% for x in r %}{{ x }}{% endfor %}")),
     "r.0"),
    ("source of an item that is stored", (MADE, store("{{ r[1] }}"), log("{{ tax }}")), "tax"),
    ("source of items that are stored", (
        MADE, {**EACH, "items": "{{ r }}"}, store("{{ row }}"), log("{{ name }}")), "name"),
    ("item far behind", (sets("c", r=["x"] * 99 + ["{{ tax }}"]), store("{{ tax }}"), log("{{ r[99] }}")), "r.0"),
    ("item of a list in a record", (
        sets("c", r={"a": [["x", "{{ tax }}"]]}), store("{{ tax }}"), log("{{ r.a[0][1] }}")), "r.a.0.1"),
    ("item that is handed in", (store("{{ tax }}"), inner("second", both=["{{ name }}", "{{ tax }}"])), "tax"),
    ("rounded", (store("{{ tax }}"), log("{{ tax | int }}")), "tax"),
    ("workflow that stores", (inner("vault", tax="{{ tax }}"), log("{{ tax }}")), "tax"),
    ("workflow that logs", (store("{{ tax }}"), inner("diary", tax="{{ tax }}")), "tax"),
    ("part of what is stored whole", (put({"papers": "{{ cust }}"}), log("{{ cust.name }}")), "cust.name"),
    ("prompt", (store("{{ tax }}"), agent(prompt="{{ tax }}")), "tax"),
    ("injected copy", (sets("c", t="{{ tax }}"), store("{{ tax }}"), agent(context_injection=["t"])), "t"),
    ("whole context", (sets("c", t="{{ tax }}"), store("{{ t }}"), ALONE, LOOK), "t"),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "key"), [each[1:] for each in SHOWN], ids=[each[0] for each in SHOWN])
def test_value_of_a_secure_field_is_followed_to_whoever_is_shown_it(
    tmp_path: Path, steps: tuple[Step, ...], key: str
) -> None:
    assert any(f" shows {key!r} to " in message for message in exposed(tmp_path, *steps))


HIDDEN: list[tuple[str, tuple[Step, ...]]] = [
    ("other field of the record", (put("{{ cust }}"), log("{{ cust.name }}"))),
    ("other key beside it", (store("{{ tax }}"), log("{{ name }}"))),
    ("other value of the record that is made", (
        sets("c", r={"tax_number": "{{ tax }}", "name": "{{ name }}"}), put("{{ r }}"), log("{{ name }}{{ r.name }}"))),
    ("record that cannot have it", (put("{{ shut }}"), log("{{ shut }}"))),
    ("other field of an item", (EACH, store("{{ row.tax_number }}"), log("{{ rows[0].name }}"))),
    ("other item of a list that is made", (MADE, store("{{ tax }}"), log("{{ r[0] }} {{ r.0 }}"))),
    ("other item of a list in a record", (
        sets("c", r={"a": [["x", "{{ tax }}"]]}), store("{{ tax }}"), log("{{ r.a[0][0] }}"))),
    ("source of an item beside the one that is stored", (MADE, store("{{ r[1] }}"), log("{{ name }}{{ r[0] }}"))),
    ("item beside the one that is handed in", (
        store("{{ tax }}"), inner("second", both=["{{ tax }}", "{{ name }}"]))),
    ("number of items", (EACH, store("{{ row.tax_number }}"), log("stored {{ rows | length }}"))),
    ("names in a loop", (EACH, put("{{ row }}"), log("{% for r in rows %}{{ r.name }}{% endfor %}"))),
    ("attribute of items", (EACH, put("{{ row }}"), log("{{ rows | map(attribute='name') | join }}"))),
    ("results of a list", (EACH, store("{{ row.tax_number }}"), log("{{ done }}"))),
    ("key that is written anew", (store("{{ tax }}"), sets("c", tax="hidden"), log("{{ tax }}"))),
    ("key that is stored once it is another", (log("{{ tax }}"), sets("c", tax="{{ name }}"), store("{{ tax }}"))),
    ("what the database gives back", (put({"tax_number": "{{ tax }}"}, output="c"), log("{{ c }}"))),
    ("condition", (store("{{ tax }}"), log("{{ 'given' if tax else 'none' }}"))),
    ("workflow that keeps it", (inner("vault", tax="{{ tax }}", name="{{ name }}"), log("{{ name }} {{ x }}"))),
    ("workflow that logs another", (store("{{ tax }}"), inner("diary", tax="{{ name }}"))),
]  # fmt: skip


@pytest.mark.parametrize("steps", [each[1] for each in HIDDEN], ids=[each[0] for each in HIDDEN])
def test_what_stands_beside_a_secure_value_is_no_secret(tmp_path: Path, steps: tuple[Step, ...]) -> None:
    assert exposed(tmp_path, *steps) == []


def test_workflow_that_shows_what_it_stores_itself_is_told_there_and_not_at_its_caller(tmp_path: Path) -> None:
    write(tmp_path, {"own.yaml": flow("own", store("{{ tax }}"), log("{{ tax }}"))})
    assert exposed(tmp_path, inner("own", tax="{{ tax }}")) == []


def test_workflows_that_run_each_other_and_values_that_go_round_are_followed_to_an_end(tmp_path: Path) -> None:
    write(
        tmp_path, {"a.yaml": flow("a", inner("b", tax="{{ tax }}")), "b.yaml": flow("b", inner("a", tax="{{ tax }}"))}
    )
    round_trip = (sets("c", tax="{{ cust.a }}", cust={"a": "{{ tax }}", "b": "{{ cust }}"}), store("{{ tax }}"))
    again = {**log("{{ tax }}"), "routes": {"default": "c"}}
    assert exposed(tmp_path, inner("a", tax="{{ tax }}"), *round_trip, again)
