"""A workflow that is given other values by the step that runs it, or by its schedule, may do otherwise by them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.changes.test_origins_of_values import ASK, PAY, ROUTER, Step, files, sets, told
from tuvl.changes.change import GRAVE

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "id": {"type": "string"}, "note": {}}}


def inner(name: str, *steps: Step) -> str:
    return yaml.safe_dump(
        {"kind": "Workflow", "metadata": {"name": name}, "spec": {"input": SCHEMA, "steps": [*steps]}}
    )


INNER = {"child.yaml": inner("child", ROUTER, ASK, PAY)}
RUN: Step = {"id": "run", "kind": "Workflow", "workflow": "child", "input": {"n": "{{ n }}", "id": "{{ id }}"}}


def given(**values: Any) -> Step:
    return {**RUN, "input": {**RUN["input"], **values}}


EACH: Step = {"id": "each", "kind": "ForEach", "items": "{{ [n] }}", "as": "row", "step": "run"}
OF_ROW = given(n="{{ row }}", note="{{ row }}")
DEEP = {
    **INNER,
    "middle.yaml": inner("middle", {**RUN, "id": "deeper"}),
}

CASES: list[tuple[str, tuple[Step, ...], tuple[Step, ...], dict[str, str], str]] = [
    ("fixed value", (RUN,), (given(n=0),), INNER, "approval-weakened"),
    ("other expression", (RUN,), (given(n="{{ n // 10 }}"),), INNER, "approval-weakened"),
    ("step before", (RUN,), (sets("s", n=1), RUN), INNER, "approval-weakened"),
    ("key of a repetition", (RUN,), (given(id="A-1"),), INNER, "write-repeatable"),
    ("value that is gone", (RUN,), ({**RUN, "input": {"id": "{{ id }}"}},), INNER, "approval-weakened"),
    (
        "item of a list",
        (EACH, OF_ROW),
        (EACH, given(n="{{ row // 10 }}", note="{{ row }}")),
        INNER,
        "approval-weakened",
    ),
    ("other items", (EACH, OF_ROW), ({**EACH, "items": "{{ [1] }}"}, OF_ROW), INNER, "approval-weakened"),
    (
        "workflow between",
        ({**RUN, "workflow": "middle"},),
        ({**given(n=0), "workflow": "middle"},),
        DEEP,
        "approval-weakened",
    ),
]


@pytest.mark.parametrize(("old", "new", "more", "code"), [each[1:] for each in CASES], ids=[each[0] for each in CASES])
def test_value_that_passes_by_a_question_of_the_workflow_it_is_given_to_is_told_at_the_step(
    tmp_path: Path, old: tuple[Step, ...], new: tuple[Step, ...], more: dict[str, str], code: str
) -> None:
    found = [change for change in told(tmp_path, files(*old, **more), files(*new, **more)) if change.code == code]
    assert {change.step for change in found} == {"run"}
    assert all("'child'" in change.message for change in found)


HARMLESS: list[tuple[str, tuple[Step, ...], tuple[Step, ...]]] = [
    ("value that decides nothing", (given(note="a"),), (given(note="b"),)),
    ("beside an item", (EACH, OF_ROW), (EACH, given(n="{{ row }}", note="b"))),
    ("in other words", (RUN,), (given(n="{{n}}"),)),
]


@pytest.mark.parametrize(("old", "new"), [each[1:] for each in HARMLESS], ids=[each[0] for each in HARMLESS])
def test_value_by_which_a_workflow_does_nothing_else_is_no_matter(
    tmp_path: Path, old: tuple[Step, ...], new: tuple[Step, ...]
) -> None:
    found = told(tmp_path, files(*old, **INNER), files(*new, **INNER))
    assert [change for change in found if change.cls in GRAVE] == []


def test_schedule_that_gives_another_value_past_the_question_is_told(tmp_path: Path) -> None:
    states = [files(ROUTER, ASK, PAY) for _ in range(2)]
    for state, number in zip(states, (300, 3), strict=True):
        flow = yaml.safe_load(state["w.yaml"])
        flow["spec"]["trigger"] = {"schedule": "0 8 * * *", "input": {"n": number, "id": "a"}}
        state["w.yaml"] = yaml.safe_dump(flow)
    found = [change for change in told(tmp_path, states[0], states[1]) if change.code == "approval-weakened"]
    assert {change.path for change in found} == {"spec.trigger.input"}


def test_workflows_that_run_each_other_are_compared_all_the_same(tmp_path: Path) -> None:
    round_trip = {"child.yaml": inner("child", ROUTER, ASK, PAY, {**RUN, "id": "again"})}
    found = told(tmp_path, files(RUN, **round_trip), files(given(n=0), **round_trip))
    assert "approval-weakened" in {change.code for change in found}
