"""Which signals each kind of step can return."""

from typing import Any

import pytest

from tests.analysis.workflows import Nodes, Project, agent, call, decide, node, work, workflow
from tuvl.analysis.signals import SignalSet, possible_signals

ALWAYS = {"default", "error", "aborted"}


def signals(step: dict[str, Any], *, project: Project | None = None, **spec: Any) -> SignalSet:
    view = workflow(step, **spec)
    return possible_signals(view.steps[0], view.spec, project or Project())


def human(**fields: Any) -> dict[str, Any]:
    return {"id": "ask", "kind": "HumanInTheLoop", "ui": {"title": "?"}, **fields}


@pytest.mark.parametrize(
    ("step", "known"),
    [
        (work("a"), {"default", "error"}),
        ({"id": "a", "kind": "Functional", "runner": "log"}, {"default", "error"}),
        ({"id": "a", "kind": "Functional", "runner": "wait"}, ALWAYS),
        ({"id": "a", "kind": "Functional", "runner": "fail"}, {"error"}),
        (call("a"), ALWAYS),
        ({"id": "a", "kind": "MCP"}, ALWAYS),
        ({"id": "a", "kind": "ModelOp"}, ALWAYS),
        ({"id": "a", "kind": "Workflow", "workflow": "b"}, ALWAYS),
        ({"id": "a", "kind": "ForEach", "step": "b"}, ALWAYS),
        ({"id": "a", "kind": "Response", "source": "x"}, {"default", "error"}),
        (decide("a", "b", "c"), {"true", "false", "error"}),
        (
            {
                "id": "a",
                "kind": "Router",
                "when": [{"if": "{{ x }}", "signal": "big"}, {"if": "{{ y }}", "signal": "big"}],
            },
            {"big", "default", "error"},
        ),
        (human(), ALWAYS),
        (human(timeout_s=60), {*ALWAYS, "timeout"}),
        (
            human(signal_from="ok", human_feedback=[{"name": "ok", "type": "choice", "choices": ["yes", "no"]}]),
            {*ALWAYS, "yes", "no"},
        ),
        (human(signal_from="ok", human_feedback=[{"name": "ok", "type": "boolean"}]), {*ALWAYS, "true", "false"}),
        (agent("a", "t"), {*ALWAYS, "max_iterations"}),
        (agent("a", "t", token_budget=10), {*ALWAYS, "max_iterations", "budget_exceeded"}),
        (agent("a", "t", max_wall_clock_s=10), {*ALWAYS, "max_iterations", "budget_exceeded"}),
        (agent("a", "t", guardrails={"input": ["artifact://g@1"]}), {*ALWAYS, "max_iterations", "guardrail_violation"}),
        (agent("a", "t", outcome={"enum": ["x", "y"]}), {"x", "y", "error", "aborted", "max_iterations"}),
        (agent("a", mode="completion"), {*ALWAYS, "timeout"}),
        (agent("a", mode="completion", outcome={"format": "json"}), {*ALWAYS, "timeout", "parse_error"}),
        (
            agent("a", mode="completion", outcome={"enum": ["x"]}),
            {"x", "error", "aborted", "timeout", "parse_error"},
        ),
    ],
    ids=lambda value: value.get("kind") if isinstance(value, dict) else None,
)
def test_step_returns_these_signals_and_no_others(step: dict[str, Any], known: set[str]) -> None:
    assert signals(step) == SignalSet(frozenset(known))


def test_router_on_a_free_value_may_return_anything() -> None:
    found = signals({"id": "a", "kind": "Router", "match": {"field": "topic"}})
    assert found.open
    assert found.may_be("billing")


def test_answer_that_is_no_closed_set_may_be_anything() -> None:
    assert signals(human(signal_from="note", human_feedback=[{"name": "note", "type": "text"}])).open


def test_node_returns_what_it_declares() -> None:
    step = {"id": "a", "kind": "Functional", "runner": "price"}
    assert signals(step).open
    declared = Project(nodes=Nodes({"price": node("price", "default", "empty")}))
    assert signals(step, project=declared) == SignalSet(frozenset({*ALWAYS, "empty"}))
    silent = Project(nodes=Nodes({"price": node("price")}))
    assert signals(step, project=silent).open


@pytest.mark.parametrize("limit", ["max_tokens", "max_cost_usd", "timeout_s"])
def test_limit_of_the_run_can_end_an_agent_on_its_budget(limit: str) -> None:
    assert signals(agent("a", "t"), limits={limit: 5}).may_be("budget_exceeded")
    assert not signals(agent("a", "t"), limits={"max_steps": 5}).may_be("budget_exceeded")


def test_policy_of_the_project_can_end_an_agent_on_its_budget() -> None:
    project = Project(config={"kind": "ProjectConfig", "spec": {"policy": {"max_tokens_per_run": 5}}})
    assert signals(agent("a", "t"), project=project).may_be("budget_exceeded")


def test_step_of_an_unknown_kind_may_return_anything() -> None:
    assert signals({"id": "a", "kind": "Nope"}).open
    assert signals({"id": "a"}).open
