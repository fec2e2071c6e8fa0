"""A value is followed over the calls of workflows as it is inside of one, however these run each other."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.changes.test_origins_of_values import ASK, PAY, ROUTER, Step, files, sets, told
from tests.changes.test_what_workflows_are_given import EACH, INNER, OF_ROW, RUN, given, inner
from tuvl.changes.change import GRAVE, Change

ONLY_ASKS = {"child.yaml": inner("child", {**ASK, "routes": {}})}
ONLY_SETS = {"child.yaml": inner("child", sets("note", said="{{ n }}"))}
AGENT: Step = {
    "id": "agent",
    "kind": "Agent",
    "mode": "autonomous",
    "agent": {
        "prompt": "Pay it.",
        "tools": [{"ref": "run", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}],
        "outcome": {"write": "said"},
    },
    "routes": {"default": "END", "error": "END"},
}


def weakened(tmp_path: Path, old: tuple[Step, ...], new: tuple[Step, ...], more: Mapping[str, str]) -> list[Change]:
    found = told(tmp_path, files(*old, **more), files(*new, **more))
    return [change for change in found if change.code == "approval-weakened"]


def fails(name: str) -> Step:
    return {"id": name, "kind": "Functional", "runner": "fail", "message": "No."}


def chain(length: int) -> dict[str, str]:
    """Workflows that each run the next one; the last one runs `child`."""
    names = [*(f"c{number}" for number in range(length)), "child"]
    steps = [{**RUN, "id": f"go_{name}", "workflow": name} for name in names[1:]]
    return {f"{name}.yaml": inner(name, step) for name, step in zip(names, steps, strict=False)} | INNER


def test_value_is_followed_through_any_number_of_workflows_inside_each_other(tmp_path: Path) -> None:
    old, new = {**RUN, "workflow": "c0"}, {**given(n=0), "workflow": "c0"}
    found = weakened(tmp_path, (old,), (new,), chain(12))
    assert {change.step for change in found} == {"run"}
    assert all("workflow 'child'" in change.message for change in found)


def test_way_to_the_write_is_shown_over_the_calls(tmp_path: Path) -> None:
    old, new = {**RUN, "workflow": "c0"}, {**given(n=0), "workflow": "c0"}
    found = weakened(tmp_path, (old,), (new,), chain(1))
    assert "run: c0 → go_child: child → size (false) → pay" in {change.after for change in found}


def test_step_before_the_call_that_makes_the_value_is_named(tmp_path: Path) -> None:
    found = weakened(
        tmp_path, (sets("s", m="{{ n }}"), given(n="{{ m }}")), (sets("s", m=1), given(n="{{ m }}")), INNER
    )
    assert found
    assert all("step 's' makes 'm' otherwise" in change.message for change in found)


def again(value: Any) -> dict[str, str]:
    return {"child.yaml": inner("child", ROUTER, ASK, PAY, {**given(n=value), "id": "again"})}


def in_turn(value: Any) -> dict[str, str]:
    back = {**given(n=value), "id": "back"}
    return {
        "child.yaml": inner("child", ROUTER, ASK, PAY, {**RUN, "id": "on", "workflow": "other"}),
        "other.yaml": inner("other", back),
    }


@pytest.mark.parametrize(("recursive", "step"), [(again, "again"), (in_turn, "back")], ids=["itself", "each other"])
def test_workflow_that_hands_itself_another_value_past_its_question_is_told(
    tmp_path: Path, recursive: Any, step: str
) -> None:
    found = told(tmp_path, files(RUN, **recursive("{{ n }}")), files(RUN, **recursive(0)))
    assert step in {change.step for change in found if change.code == "approval-weakened"}


def test_workflows_that_all_run_each_other_are_each_followed_once(tmp_path: Path) -> None:
    """By every way through a dozen of them, this would never end."""
    names = [f"w{number}" for number in range(12)]
    web = {
        f"{name}.yaml": inner(
            name, *({**RUN, "id": f"go_{other}", "workflow": other} for other in names), ROUTER, ASK, PAY
        )
        for name in names
    }
    found = weakened(tmp_path, ({**RUN, "workflow": "w0"},), ({**given(n=0), "workflow": "w0"},), web)
    assert all(any(f"workflow {name!r}" in change.message for change in found) for name in names)


TOOLS: list[tuple[str, tuple[Step, ...], tuple[Step, ...]]] = [
    ("argument", (AGENT, given(n="{{ args.n }}")), (AGENT, given(n="{{ args.n * 10 }}"))),
    (
        "key beside the arguments",
        (sets("s", q="{{ n }}"), AGENT, given(n="{{ q }}")),
        (sets("s", q=1), AGENT, given(n="{{ q }}")),
    ),
]


@pytest.mark.parametrize(("old", "new"), [each[1:] for each in TOOLS], ids=[each[0] for each in TOOLS])
def test_tool_that_hands_its_workflow_another_value_past_its_question_is_told(
    tmp_path: Path, old: tuple[Step, ...], new: tuple[Step, ...]
) -> None:
    assert {change.step for change in weakened(tmp_path, old, new, INNER)} == {"run"}


def test_schedule_is_followed_into_the_workflows_that_are_run(tmp_path: Path) -> None:
    states = [files(RUN, **INNER) for _ in range(2)]
    for state, number in zip(states, (300, 3), strict=True):
        flow = yaml.safe_load(state["w.yaml"])
        flow["spec"]["trigger"] = {"schedule": "0 8 * * *", "input": {"n": number, "id": "a"}}
        state["w.yaml"] = yaml.safe_dump(flow)
    found = [change for change in told(tmp_path, *states) if change.code == "approval-weakened"]
    assert {change.path for change in found} == {"spec.trigger.input"}
    assert all("'child'" in change.message for change in found)


def test_person_inside_who_is_shown_another_value_than_the_caller_writes_is_told(tmp_path: Path) -> None:
    found = weakened(tmp_path, (RUN, PAY), (given(n=0), PAY), ONLY_ASKS)
    assert [change.message for change in found if "is shown another 'n'" in change.message]


def test_value_given_back_through_many_workflows_is_followed_to_where_it_is_made(tmp_path: Path) -> None:
    def gives(value: Any) -> dict[str, str]:
        names = [f"g{number}" for number in range(12)]
        found = {}
        for name, following in pairwise(names):
            step = {**RUN, "id": "on", "workflow": following, "output_key": "m"}
            found[f"{name}.yaml"] = inner(name, step).replace("steps:", "output: m\n  steps:")
        return found | {"last.yaml": inner("g11", sets("s", m=value)).replace("steps:", "output: m\n  steps:")}

    first = {**RUN, "id": "first", "workflow": "g0", "output_key": "n"}
    flow = (first, ROUTER, ASK, PAY)
    found = told(tmp_path, files(*flow, **gives("{{ n }}")), files(*flow, **gives(1)))
    assert "approval-weakened" in {change.code for change in found if change.workflow == "w"}


HARMLESS: list[tuple[str, tuple[Step, ...], tuple[Step, ...], dict[str, str]]] = [
    ("nothing decided inside", (RUN,), (given(n=0),), ONLY_SETS),
    ("nothing decided inside, a write after", (RUN, ROUTER, ASK, PAY), (given(n=0), ROUTER, ASK, PAY), ONLY_SETS),
    ("a person asked inside, and nothing written", (RUN,), (given(n=0),), ONLY_ASKS),
    (
        "a person inside who is shown what is written",
        (sets("s", n=1), {**RUN, "routes": {"error": "END"}}, PAY),
        (sets("s", n=2), {**RUN, "routes": {"error": "END"}}, PAY),
        {"child.yaml": inner("child", {**ASK, "routes": {"false": "no", "error": "no"}}, fails("no"))},
    ),
    ("renamed step", (sets("s", m="{{ n }}"), given(n="{{ m }}")), (sets("z", m="{{ n }}"), given(n="{{ m }}")), INNER),
    (
        "other name of an item",
        (EACH, OF_ROW),
        ({**EACH, "as": "each_row"}, given(n="{{ each_row }}", note="{{ each_row }}")),
        INNER,
    ),
    ("other order of the input", (RUN,), ({**RUN, "input": dict(reversed(RUN["input"].items()))},), INNER),
    ("other quotes", (given(n="{{ n or 'a' }}"),), (given(n='{{ n or "a" }}'),), INNER),
    ("through many", ({**RUN, "workflow": "c0"},), ({**given(note="b"), "workflow": "c0"},), chain(12)),
]


@pytest.mark.parametrize(("old", "new", "more"), [each[1:] for each in HARMLESS], ids=[each[0] for each in HARMLESS])
def test_call_by_which_nothing_is_done_otherwise_is_no_matter(
    tmp_path: Path, old: tuple[Step, ...], new: tuple[Step, ...], more: dict[str, str]
) -> None:
    found = told(tmp_path, files(*old, **more), files(*new, **more))
    assert [change for change in found if change.cls in GRAVE] == []
