"""What a supervisor adds to an agent is in what is proved of it: its judge's calls, and what it says."""

import asyncio
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bounds.bounded_project import agent_step, broken_bounds, figures, priced, project_of
from tests.support.adversary import TOOL, Adversary, Bill
from tuvl.agent.prompt import STEER_FRAME
from tuvl.analysis import own_words
from tuvl.plan.supervisor import DEFAULT_STEER
from tuvl.values import dump_json

RULES = st.lists(
    st.sampled_from(
        [
            {"when": "iteration_reached", "gte": 1, "then": "steer"},
            {"when": "tool_repeated", "count": 2, "then": "steer"},
            {"when": "no_progress", "count": 1, "then": "steer"},
            {"when": "budget_fraction", "gt": 0.1, "then": "steer"},
        ]
    ),
    max_size=4,
)


async def attacked(root: Path, supervisor: dict, verdict: str, **fields: object) -> tuple[list[str], Bill]:
    """Run a supervised agent whose models cost all they may; returns the bounds it broke, and the bill."""
    project = project_of(
        root, agent_step(max_output_tokens=300, **fields), limits={"max_context_bytes": 4000}, supervisor=supervisor
    )
    project.model("never used", name="judge", **priced(max_tokens=200))
    bill = Bill()
    project.chat_models["default"] = Adversary(bill, ["calls"], output=300, calls=2)
    project.chat_models["judge"] = Adversary(bill, [verdict], output=200, name="judge")
    found = figures(project)
    result = await project.run({"text": "x" * 3900})
    return broken_bounds(bill, result.usage.tool_calls, found), bill


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rules=RULES,
    every=st.none() | st.integers(1, 4),
    message=st.none() | st.just("\u20ac" * 400),
    verdict=st.sampled_from(["judged", "answer"]),
    iterations=st.integers(1, 6),
    budget=st.none() | st.integers(1, 60_000),
)
def test_no_supervised_run_exceeds_what_is_proved_of_it(rules, every, message, verdict, iterations, budget) -> None:
    supervisor: dict = {"watches": ["agent"], "rules": rules}
    if message is not None:
        supervisor["steer_message"] = message
    if every is not None:
        judge = {
            "model": "judge",
            "criteria": "It gets on. " * 20,
            "every_n_iterations": every,
            "on_violation": "steer",
        }
        supervisor["judge"] = judge
    fields: dict = {"max_iterations": iterations} | ({} if budget is None else {"token_budget": budget})
    with tempfile.TemporaryDirectory() as root:
        broken, _ = asyncio.run(attacked(Path(root), supervisor, verdict, **fields))
    assert broken == []


@pytest.mark.parametrize(("every", "looks"), [(1, 4), (2, 2), (3, 1), (4, 1), (5, 0)])
async def test_the_judge_s_calls_are_counted_one_by_one(every: int, looks: int, tmp_path: Path) -> None:
    judge = {"model": "judge", "criteria": "Fine.", "every_n_iterations": every, "on_violation": "steer"}
    supervisor = {"watches": ["agent"], "judge": judge}
    broken, bill = await attacked(tmp_path, supervisor, "judged", max_iterations=5)
    assert broken == []
    assert bill.calls == 5 + looks


def test_what_a_supervisor_says_is_no_longer_than_it_is_taken_for() -> None:
    assert len(STEER_FRAME) <= own_words.STEER
    assert len(DEFAULT_STEER) <= own_words.DEFAULT_STEER
    most = 10**12
    told = {
        "iterations": most,
        "max_iterations": most,
        "tool_calls": {},
        "failed_tool_calls": most,
        "turns_without_progress": most,
        "tokens_used": most,
        "token_budget": most,
        "cost_usd": 123456789.123456789,
        "cost_budget_usd": 123456789.123456789,
    }
    assert len(dump_json(told)) <= own_words.COUNTS
    assert len(dump_json({TOOL: most})) - len(TOOL) <= own_words.COUNTED_TOOL


async def test_a_judge_without_a_known_price_is_told_where_dollars_are_bounded(tmp_path: Path) -> None:
    judge = {"model": "openai/no-such-model", "criteria": "Fine."}
    step = agent_step(cost_budget_usd=1.0)
    project = project_of(tmp_path, step, supervisor={"watches": ["agent"], "judge": judge})
    assert json.loads(step.splitlines()[0][2:])["agent"]["cost_budget_usd"] == 1.0
    with pytest.raises(Exception, match="no-such-model"):
        project.plan()
