"""Coverage of workflows that run inside another: what a scenario made them do counts for them."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.cli_support import write
from tests.scenarios.scenario_support import Command

CALLER = """\
kind: Workflow
metadata: { name: caller }
spec:
  input: { type: object, additionalProperties: false, required: [n], properties: { n: { type: integer } } }
  steps:
"""
SUB = (
    '    - { id: sub, kind: Workflow, workflow: callee, input: { n: "{{ n }}" }, '
    "routes: { default: END, error: END } }\n"
)
EACH = (
    '    - { id: each, kind: ForEach, items: ["{{ n }}"], as: m, step: one, routes: { default: END, error: END } }\n'
    + ('    - { id: one, kind: Workflow, workflow: callee, input: { n: "{{ m }}" } }\n')
)
CALLEE = """\
kind: Workflow
metadata: { name: callee }
spec:
  input: { type: object, additionalProperties: false, required: [n], properties: { n: { type: integer } } }
  steps:
    - id: big
      kind: Router
      condition: { field: n, operator: gt, value: 5 }
      routes: { "true": refuse, "false": done, error: END }
    - { id: refuse, kind: Functional, runner: fail, message: too big, routes: { error: END } }
    - { id: done, kind: Functional, runner: set, values: { fine: true }, routes: { default: END } }
"""


def scenario(name: str, rest: str, workflow: str = "caller") -> str:
    return f"kind: WorkflowTest\nmetadata: {{ name: {name} }}\nspec:\n  workflow: {workflow}\n{rest}"


def coverage(folder: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch, *scenarios: str, steps: str = SUB) -> Any:
    """What is told of the callee, of all its routes, and the scenarios that count for it."""
    files = {"workflows/caller.yaml": CALLER + steps, "workflows/callee.yaml": CALLEE}
    files |= {f"tests/{number}.yaml": text for number, text in enumerate(scenarios)}
    write(folder, files)
    monkeypatch.chdir(folder)
    told = Command(capfd)("--coverage", "--format", "json")
    assert told.code == 0, told.out
    (callee,) = (each for each in told.json["coverage"]["workflows"] if each["workflow"] == "callee")
    missing = {(each["step"], each["signal"]) for each in callee["uncovered"]}
    return missing, callee["scenarios"]


ROUTES = {("big", "true"), ("big", "false"), ("big", "error"), ("refuse", "error"), ("done", "default")}


@pytest.mark.parametrize("steps", [SUB, EACH], ids=["step", "body"])
def test_routes_taken_inside_count_for_the_workflow_that_they_are_of(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, steps: str
) -> None:
    small = scenario("small", "  input: { n: 1 }\n  expect: { status: completed }\n")
    missing, scenarios = coverage(tmp_path, capfd, monkeypatch, small, steps=steps)
    assert missing == ROUTES - {("big", "false"), ("done", "default")}
    assert scenarios == 1


def test_scenarios_of_the_caller_and_of_the_callee_add_up(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = scenario("small", "  input: { n: 1 }\n  expect: { status: completed }\n")
    big = scenario("big", "  input: { n: 9 }\n  expect: { status: completed }\n", workflow="callee")
    missing, scenarios = coverage(tmp_path, capfd, monkeypatch, small, big)
    assert missing == {("big", "error")}
    assert scenarios == 2


def test_stub_in_the_place_of_a_workflow_takes_none_of_its_routes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stubbed = scenario("stubbed", "  input: { n: 1 }\n  stubs: { sub: {} }\n  expect: { status: completed }\n")
    assert coverage(tmp_path, capfd, monkeypatch, stubbed) == (ROUTES, 0)


def test_stub_of_a_step_inside_takes_the_route_that_it_leads_to(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = '  input: { n: 1 }\n  stubs: { callee/big: { signal: "true" } }\n  expect: { steps: [sub] }\n'
    missing, scenarios = coverage(tmp_path, capfd, monkeypatch, scenario("lost", lost))
    assert missing == ROUTES - {("big", "true"), ("refuse", "error")}
    assert scenarios == 1
