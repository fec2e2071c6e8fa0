"""TV602 on `max_repeated_calls`: the number is the call that ends the agent."""

import json
from pathlib import Path

import pytest

from tests.check.checking import check, messages, workflow

MODEL = {"llms/small.yaml": "kind: AgentModel\nmetadata: { name: small }\nspec: { provider: scripted, replies: [x] }\n"}


def said(folder: Path, **bounds: int) -> list[str]:
    block = {"model": "small", "steering": "Go.", "tools": [{"ref": "look"}], "max_wall_clock_s": 60, **bounds}
    agent = {"id": "a", "kind": "Agent", "mode": "autonomous", "agent": block}
    look = {"id": "look", "kind": "Functional", "runner": "set", "values": {"x": 1}, "description": "Looks."}
    steps = "\n".join(f"- {json.dumps(step)}" for step in (agent, look))
    return messages(check(folder, {**MODEL, **workflow(steps)}), "TV602")


def test_a_bound_that_the_first_call_reaches_is_told(tmp_path: Path) -> None:
    assert said(tmp_path, max_repeated_calls=1) == [
        "`max_repeated_calls: 1` of step 'a' is reached at once: the first call of any tool ends the agent"
    ]


@pytest.mark.parametrize(
    "bounds", [{"max_tool_calls": 3}, {"max_calls_per_turn": 1, "max_iterations": 3}], ids=["calls", "turns"]
)
def test_a_bound_above_all_calls_is_never_reached(tmp_path: Path, bounds: dict[str, int]) -> None:
    (told,) = said(tmp_path, max_repeated_calls=4, **bounds)
    assert told == "`max_repeated_calls: 4` of step 'a' is never reached: the agent makes 3 calls at most"


@pytest.mark.parametrize("bounds", [{}, {"max_tool_calls": 3}], ids=["alone", "calls"])
def test_a_bound_that_can_be_reached_later_is_fine(tmp_path: Path, bounds: dict[str, int]) -> None:
    assert said(tmp_path, max_repeated_calls=2, **bounds) == []
