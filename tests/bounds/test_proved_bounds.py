"""No run uses more than what is proved of it, and the worst one comes near to it."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bounds.bounded_project import agent_step, attack, broken_bounds, figures, project_of

MOVES = st.just(["calls"]) | st.lists(
    st.sampled_from(["calls", "calls", "calls", "unknown", "malformed", "answer", "done", "blank"]),
    min_size=1,
    max_size=6,
)
FIELDS = st.fixed_dictionaries(
    {
        "max_iterations": st.integers(1, 5),
        "max_output_tokens": st.integers(60, 600),
        "outcome": st.just({"enum": ["done"]}),
        "answer_retries": st.integers(0, 3),
        "retry": st.fixed_dictionaries({"attempts": st.integers(1, 3), "backoff": st.just(0)}),
        "tool_result_max_chars": st.integers(1, 4000),
    },
    optional={
        "token_budget": st.integers(1, 40_000),
        "cost_budget_usd": st.floats(0.0001, 0.2),
        "budget_check": st.sampled_from(["turn_start", "after_call"]),
        "max_tool_calls": st.integers(1, 6),
        "max_calls_per_turn": st.integers(1, 4),
        "tool_result_max_bytes": st.integers(1, 9000),
        "tool_error_policy": st.sampled_from(["report", "fail"]),
        "dedup_within_turn": st.booleans(),
        "tool_concurrency": st.integers(1, 3),
        "context_injection": st.just(["text"]),
        "conclude": st.just({"margin": 1, "offer_tools": False}),
        "context_limits": st.fixed_dictionaries({"max_bytes": st.integers(500, 20_000)}),
        "compaction": st.fixed_dictionaries(
            {"max_tokens": st.integers(700, 4000), "reserve": st.just(1), "recent_tail": st.integers(1, 3)}
        ),
    },
)
LIMITS = st.fixed_dictionaries(
    {"max_context_bytes": st.integers(200, 6000)},
    optional={"max_tokens": st.integers(1, 60_000), "max_cost_usd": st.floats(0.0001, 0.3)},
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    fields=FIELDS,
    limits=LIMITS,
    moves=MOVES,
    calls=st.integers(1, 8),
    short=st.booleans(),
    runner=st.sampled_from(["big", "failing"]),
    full=st.just(1.0) | st.floats(0, 1),
    letter=st.sampled_from(["x", "`", '"', "\u20ac", "\x01"]),
)
def test_no_run_exceeds_what_is_proved_of_it(fields, limits, moves, calls, short, runner, full, letter) -> None:
    if fields["max_iterations"] == 1:
        fields.pop("conclude", None)  # an agent of one turn cannot be told to finish before it
    with tempfile.TemporaryDirectory() as root:
        project = project_of(Path(root), agent_step(runner=runner, **fields), limits=limits)
        found = figures(project)
        # What JSON escapes takes up to six bytes in the context.
        text = letter * int(
            full * (limits["max_context_bytes"] - 20) / {"x": 1, "`": 1, '"': 2, "\u20ac": 3, "\x01": 6}[letter]
        )
        bill, tool_calls = asyncio.run(
            attack(
                project,
                *moves,
                text=text,
                output=fields["max_output_tokens"],
                calls=calls,
                attempts=fields["retry"]["attempts"],
                short=short,
            )
        )
        assert broken_bounds(bill, tool_calls, found) == []


TIGHT = {
    "max_iterations": 4,
    "max_output_tokens": 8000,
    "max_calls_per_turn": 3,
    "tool_result_max_chars": 5000,
    "retry": {"attempts": 2, "backoff": 0},
}


async def test_worst_run_comes_near_to_what_is_proved_of_it(tmp_path: Path) -> None:
    project = project_of(tmp_path, agent_step(**TIGHT), limits={"max_context_bytes": 60_000})
    spend = figures(project).proved.spend
    bill, tool_calls = await attack(project, "calls", text="x" * 59_980, output=8000, calls=3, attempts=2)
    assert broken_bounds(bill, tool_calls, figures(project)) == []
    assert (bill.calls, tool_calls) == (spend.model_calls.value, spend.tool_calls.value) == (8, 12)
    assert bill.output_tokens == spend.output_tokens.value
    assert bill.total_tokens >= 0.9 * spend.total_tokens.value
    assert bill.cost_usd >= 0.9 * spend.cost_usd.value


async def test_worst_run_within_a_token_budget_comes_near_to_its_bound(tmp_path: Path) -> None:
    budget = 4 * (60_000 + 8000)
    fields = {
        **TIGHT,
        "max_iterations": 50,
        "retry": {"attempts": 1},
        "token_budget": budget,
        "tool_result_max_chars": 600,
    }
    project = project_of(tmp_path, agent_step(**fields), limits={"max_context_bytes": 60_000})
    spend = figures(project).proved.spend
    assert spend.total_tokens.by[0] == "agent: token_budget"
    worst = 0
    for length in range(50_000, 59_980, 500):
        bill, tool_calls = await attack(project, "calls", text="x" * length, output=8000, calls=3)
        assert broken_bounds(bill, tool_calls, figures(project)) == []
        worst = max(worst, bill.total_tokens)
    assert worst >= 0.9 * spend.total_tokens.value


@pytest.mark.parametrize("bound", ["max_tool_calls", "max_calls_per_turn"])
async def test_tool_calls_reach_their_bound(bound: str, tmp_path: Path) -> None:
    project = project_of(tmp_path, agent_step(max_iterations=3, max_output_tokens=400, **{bound: 4}))
    found = figures(project)
    bill, tool_calls = await attack(project, "calls", output=400, calls=4)
    assert broken_bounds(bill, tool_calls, found) == []
    assert tool_calls == found.proved.spend.tool_calls.value
