"""The names a scenario uses are checked against the workflow before anything runs."""

from pathlib import Path

import pytest

from tests.scenarios.scenario_support import project
from tuvl.check.finding import Finding
from tuvl.check.runner import check_paths


def findings(tmp_path: Path, text: str) -> list[Finding]:
    project(tmp_path, one=text)
    return [found for found in check_paths([tmp_path]).findings if found.code == "TV202"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("  stubs: { laod: {} }\n  expect: { status: completed }\n", 5, "stub 'laod'"),
        ("  allow_effects: [markk]\n  expect: { status: completed }\n", 5, "`allow_effects` 'markk'"),
        ("  answers: { nobody: {} }\n  expect: { status: completed }\n", 5, "answer 'nobody'"),
        ("  expect: { steps: [load, nothing] }\n", 5, "expected step 'nothing'"),
        ("  expect: { calls: [merk] }\n", 5, "expected call 'merk'"),
        ("  expect:\n    calls:\n      - { tool: merk }\n", 7, "expected call 'merk'"),
        ("  expect: { steps: [ticket/load] }\n", 5, "expected step 'ticket/load'"),
    ],
)
def test_step_that_is_not_there_is_found_at_its_place(tmp_path: Path, text: str, line: int, message: str) -> None:
    (found,) = findings(tmp_path, text)
    assert (found.line, found.message) == (line, f"{message} is no step of workflow 'ticket'")


def test_step_that_is_meant_is_suggested(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "  stubs: { laod: {} }\n  expect: { status: completed }\n")
    assert found.hint == "did you mean 'load'?"


def test_workflow_that_is_not_there_is_found(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    text = "kind: WorkflowTest\nmetadata: { name: two }\nspec: { workflow: tickets, expect: { status: completed } }\n"
    (tmp_path / "tests" / "two.yaml").write_text(text)
    (found,) = findings(tmp_path, "  expect: { status: completed }\n")
    assert (Path(found.file).name, found.line) == ("two.yaml", 3)
    assert found.message == "workflow 'tickets' is none of this project"


def test_names_that_are_there_are_no_findings(tmp_path: Path) -> None:
    text = "  stubs: { load: {}, mark: [{}, {}] }\n  allow_effects: [mark]\n"
    assert findings(tmp_path, text + "  expect: { steps: [load, agent], calls: [mark, { tool: mark }] }\n") == []
