"""`tuvl graph` at the terminal."""

import os
from pathlib import Path

import pytest

from tuvl.cli.app import main

FLOW = """
kind: Workflow
metadata: { name: desk }
spec:
  steps:
    - { id: load, kind: Functional, runner: set, values: { a: b }, routes: { default: nowhere } }
"""

FORMATS = {"mermaid": "---\ntitle:", "dot": "digraph ", "svg": "<svg xmlns=", "html": "<!DOCTYPE html>"}


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    file = tmp_path / "desk.yaml"
    file.write_text(FLOW, encoding="utf-8")
    return file


@pytest.mark.parametrize("form", FORMATS)
def test_command_prints_the_picture_or_writes_it_whole(
    form: str, flow: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    target = flow.with_suffix(".out")
    assert main(["graph", str(flow), "--format", form, "--output", str(target)]) == 0
    assert capfd.readouterr() == ("", "")
    assert main(["graph", str(flow), "--format", form]) == 0
    assert capfd.readouterr().out == target.read_text(encoding="utf-8")
    assert target.read_text(encoding="utf-8").startswith(FORMATS[form])
    assert sorted(path.name for path in flow.parent.iterdir()) == ["desk.out", "desk.yaml"]


@pytest.mark.parametrize("form", FORMATS)
def test_file_with_errors_is_drawn_with_its_findings_unless_they_are_not_wanted(
    form: str, flow: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", str(flow), "--format", form]) == 0
    assert "TV201" in capfd.readouterr().out
    assert main(["graph", str(flow), "--format", form, "--no-findings"]) == 0
    shown = capfd.readouterr().out
    assert "nowhere" in shown
    assert "TV201" not in shown


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no `kind: Workflow`"),
        ("kind: Artifact\n", "holds no `kind: Workflow`"),
        (FLOW + "---\n" + FLOW.replace("desk", "other"), "name one of them instead of the file"),
        (FLOW + "enabled: false\n", "is switched off"),
    ],
)
def test_file_without_one_workflow_is_misuse(
    form: str, text: str, said: str, flow: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    flow.write_text(text, encoding="utf-8")
    assert main(["graph", str(flow), "--format", form]) == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert said in shown.err


@pytest.mark.parametrize("form", FORMATS)
def test_broken_yaml_is_said_and_nothing_is_drawn(form: str, flow: Path, capfd: pytest.CaptureFixture[str]) -> None:
    flow.write_text("kind: Workflow\nspec: [\n", encoding="utf-8")
    assert main(["graph", str(flow), "--format", form]) == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "cannot be read as YAML" in shown.err


@pytest.mark.parametrize("arguments", [["nofile.yaml"], ["."], ["nobody"]])
def test_workflow_that_is_not_there_is_misuse(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["graph", *arguments, "--format", "svg"]) == 2
    assert "Traceback" not in capfd.readouterr().err


def test_output_that_cannot_be_written_is_refused_before_anything_is_drawn(
    flow: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for target in (flow.parent, flow.parent / "nowhere" / "a.svg"):
        assert main(["graph", str(flow), "--format", "svg", "--output", str(target)]) == 2
        shown = capfd.readouterr()
        assert shown.out == ""
        assert os.fspath(target) in shown.err


def test_half_written_workflows_are_drawn(flow: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for text in (
        "kind: Workflow\n",
        "kind: Workflow\nspec: 3\n",
        "kind: Workflow\nmetadata: []\nspec: { steps: { a: b } }\n",
        "kind: Workflow\nspec: { limits: x, hooks: 3, steps: [3, null, {}, { id: 4 }, { id: a, routes: [1] }] }\n",
        "kind: Workflow\nspec: { steps: [{ id: a, kind: Agent, agent: { tools: x, guardrails: [], outcome: 3 } }] }\n",
    ):
        flow.write_text(text, encoding="utf-8")
        for form in FORMATS:
            assert main(["graph", str(flow), "--format", form]) == 0
            assert capfd.readouterr().out.startswith(FORMATS[form])
