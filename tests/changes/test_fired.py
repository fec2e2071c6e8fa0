"""A write that is run beside routes and tools, by a hook, a list or a helper, widens authority as any other."""

from pathlib import Path

import pytest

from tests.changes.test_change_classes import W, compared
from tuvl.changes.change import Change

FLOW = """\
kind: Workflow
metadata: { name: crm }
spec:
  steps:
    - { id: look, kind: APICall, http: { url: "https://crm.example/x" }, routes: { error: END } }
    - { id: each, kind: ForEach, items: "{{ list }}", step: read }
    - id: help
      kind: Agent
      mode: autonomous
      agent: { model: m, steering: Help., tools: [{ ref: read, description: Reads. }] }
      routes: { default: END }
    - { id: read, kind: APICall, http: { url: "https://crm.example/r" } }
    - { id: unused, kind: Functional, runner: set, values: { a: 1 }, routes: { default: END } }
    - { id: note, kind: APICall, http: { url: "https://crm.example/n", method: POST }, routes: { default: END } }
    - { id: keep, kind: Functional, runner: keeper, routes: { default: END, error: END } }
"""
HOOK = "kind: Artifact\nmetadata: { name: h }\nspec: { type: hook, on: on_error, action: notify, target: note }\n"
NODE = """\
from tuvl import node


@node("keeper", effects="write", signals=["default"])
def keeper(ctx):
    return {}
"""
HOOKED = FLOW.replace("spec:\n", 'spec:\n  hooks: ["artifact://h@1"]\n', 1)


def told(tmp_path: Path, old: str, new: str, *, hooks: tuple[str, str] = (HOOK, HOOK)) -> list[Change]:
    states = [
        {"tuvl.yaml": "kind: ProjectConfig\n", "workflows/crm.yaml": flow, "artifacts/h.yaml": hook, "nodes/k.py": NODE}
        for flow, hook in ((old, hooks[0]), (new, hooks[1]))
    ]
    return [change for change, _ in compared(tmp_path, *states) if change.cls is W]


RUN = [
    ("hook of the workflow", HOOKED, "spec.hooks[0]"),
    (
        "hook of a step",
        FLOW.replace("kind: APICall,", 'kind: APICall, hooks: ["artifact://h@1"],', 1),
        "spec.steps[0].hooks[0]",
    ),
    ("body of a list", FLOW.replace("step: read", "step: note"), "spec.steps[1].step"),
    ("helper", FLOW.replace("steering: Help.", "steering: Help., trim: keep"), "spec.steps[2].agent.trim"),
]


@pytest.mark.parametrize(("new", "path"), [case[1:] for case in RUN], ids=[case[0] for case in RUN])
def test_write_that_was_there_and_is_run_now_is_told(tmp_path: Path, new: str, path: str) -> None:
    found = told(tmp_path / "there", FLOW, new)
    assert [(change.code, change.path, change.may) for change in found] == [("write-added", path, False)]
    assert told(tmp_path / "back", new, FLOW) == []


def test_write_that_is_new_and_run_by_a_hook_is_told_once(tmp_path: Path) -> None:
    """The new step is the hook's alone: neither a route nor an agent leads to it."""
    note = next(line for line in FLOW.splitlines() if "id: note" in line) + "\n"
    (change,) = told(tmp_path, FLOW.replace(note, ""), HOOKED)
    assert (change.code, change.step) == ("write-added", "note")


def test_hook_that_only_reads_adds_no_write(tmp_path: Path) -> None:
    reads = HOOK.replace("target: note", "target: read")
    assert told(tmp_path, FLOW, HOOKED, hooks=(reads, reads)) == []


def test_hook_that_fires_more_often_or_at_another_step_is_told(tmp_path: Path) -> None:
    (often,) = told(tmp_path / "often", HOOKED, HOOKED, hooks=(HOOK, HOOK.replace("on_error", "after_step")))
    assert often.code == "hook-fired"
    (other,) = told(tmp_path / "other", HOOKED, HOOKED, hooks=(HOOK.replace("note", "read"), HOOK))
    assert (other.code, other.path) == ("write-added", "spec.hooks[0]")
    log = HOOK.replace("action: notify, target: note", "action: log")
    (fires,) = told(tmp_path / "log", HOOKED, HOOKED, hooks=(log, HOOK))
    assert fires.code == "write-added"


def test_way_past_a_person_to_a_step_whose_hook_writes_is_told(tmp_path: Path) -> None:
    ask = (
        "    - { id: ask, kind: HumanInTheLoop, ui: { title: Go on? }, "
        "human_feedback: [{ name: yes, type: boolean }], routes: { default: look, error: END } }\n"
    )
    hooked = FLOW.replace("kind: APICall,", 'kind: APICall, hooks: ["artifact://h@1"],', 1)
    hooked = hooked.replace("routes: { error: END }", "routes: { error: END, default: END }")
    old = hooked.replace("  steps:\n", f"  steps:\n{ask}")
    (change,) = told(tmp_path, old, old.replace("default: look, error: END", "default: look, error: look"))
    assert change.code == "approval-weakened"
