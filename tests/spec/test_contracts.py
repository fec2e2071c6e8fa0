"""The contracts take what the language says, nothing else, and never change."""

import copy

import pytest
from pydantic import ValidationError

from tests.spec.documents import AUTONOMOUS, DOCUMENTS, FRONT_MATTER, STEPS, WORKFLOW
from tuvl.spec.agent import AgentStep, AutonomousStep, CompletionStep
from tuvl.spec.artifact import ProseFrontMatter
from tuvl.spec.base import Contract
from tuvl.spec.describe import field_descriptions
from tuvl.spec.json_schema import DOCUMENTS as CONTRACTS
from tuvl.spec.json_schema import contracts
from tuvl.spec.kinds import FailStep, FunctionalStep, LogStep, RouterStep, SetStep, WaitStep
from tuvl.spec.shape import shape_problems
from tuvl.spec.workflow import Limits, Workflow
from tuvl.values import JsonObject

BY_KIND = {contract.__name__: contract for contract in CONTRACTS}

BOUNDS = [
    "max_iterations",
    "token_budget",
    "cost_budget_usd",
    "max_wall_clock_s",
    "max_tool_calls",
    "max_calls_per_turn",
    "max_consecutive_tool_failures",
    "max_repeated_calls",
    "tool_concurrency",
    "tool_result_max_chars",
    "tool_result_max_bytes",
    "heartbeat_s",
    "max_continuations",
    "timeout_s",
    "max_output_tokens",
]


def workflow_with(step: JsonObject) -> JsonObject:
    return {"kind": "Workflow", "metadata": {"name": "w"}, "spec": {"steps": [step]}}


def agent_with(**fields: object) -> JsonObject:
    agent = {"model": "m", "tools": [{"ref": "call"}], **fields}
    return workflow_with({"id": "a", "kind": "Agent", "mode": "autonomous", "agent": agent})  # type: ignore[dict-item]


def agent_of(document: JsonObject) -> AgentStep:
    step = Workflow.model_validate(document).spec.steps[0]
    assert isinstance(step, AgentStep)
    return step


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["kind"])
def test_every_document_kind_builds(document: JsonObject) -> None:
    built = BY_KIND[str(document["kind"])].model_validate(document)
    assert built.kind == document["kind"]  # type: ignore[attr-defined]


def test_front_matter_builds_and_has_defaults() -> None:
    assert ProseFrontMatter.model_validate(FRONT_MATTER).version == 2
    least = ProseFrontMatter.model_validate({"name": "x", "type": "prompt"})
    assert (least.version, least.template, least.enabled) == (1, False, True)


def test_functional_step_is_told_apart_by_its_runner() -> None:
    steps = Workflow.model_validate(WORKFLOW).spec.steps
    assert [type(step) for step in steps[:6]] == [FunctionalStep, SetStep, WaitStep, WaitStep, FailStep, LogStep]


def test_agent_is_told_apart_by_its_mode() -> None:
    by_id = {step.id: step for step in Workflow.model_validate(WORKFLOW).spec.steps}
    assert isinstance(by_id["agent"], AutonomousStep)
    assert isinstance(by_id["summary"], CompletionStep)


def test_defaults_are_those_of_the_contract() -> None:
    step = agent_of(agent_with())
    assert isinstance(step, AutonomousStep)
    agent = step.agent
    assert (agent.max_iterations, agent.token_budget, agent.budget_check) == (8, None, "turn_start")
    assert (agent.tool_concurrency, agent.dedup_within_turn, agent.arg_validation) == (1, False, "strict")
    assert (agent.tool_error_policy, agent.tool_result_max_chars, agent.answer_retries) == ("report", 8000, 0)
    assert (agent.retry.attempts, agent.retry.on, agent.retry.backoff, agent.retry.max_backoff_s) == (
        1,
        ("timeout", "error"),
        1.0,
        30.0,
    )
    tool = agent.tools[0]
    assert (tool.approval, tool.on_timeout, tool.writes_context) == ("never", "fail", False)
    limits = Limits()
    assert (limits.max_steps, limits.max_context_bytes, limits.timeout_s) == (200, 262_144, None)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("value", [0, -1, True, False, "3", "1:30", "1e3", []], ids=repr)
def test_bound_that_is_no_positive_number_is_refused_by_contract_and_check(bound: str, value: object) -> None:
    """loop.md 14; faults M07."""
    document = agent_with(**{bound: value})
    with pytest.raises(ValidationError):
        Workflow.model_validate(document)
    (problem,) = shape_problems(document, kind="Workflow")
    assert problem.code == "TV102"
    assert problem.path == ("spec", "steps", 0, "agent", bound)
    assert bound in problem.message


@pytest.mark.parametrize("bound", ["token_budget", "cost_budget_usd", "max_wall_clock_s", "max_tool_calls"])
def test_null_switches_a_bound_off(bound: str) -> None:
    document = agent_with(**{bound: None})
    assert getattr(agent_of(document).agent, bound) is None  # type: ignore[attr-defined]
    assert shape_problems(document, kind="Workflow") == []


@pytest.mark.parametrize("bound", ["max_iterations", "tool_result_max_chars"])
def test_what_is_always_bounded_cannot_be_switched_off(bound: str) -> None:
    document = agent_with(**{bound: None})
    (problem,) = shape_problems(document, kind="Workflow")
    assert problem.code == "TV102"
    with pytest.raises(ValidationError):
        Workflow.model_validate(document)


def test_reserved_exit_is_no_outcome() -> None:
    with pytest.raises(ValidationError, match="reserved exits: aborted"):
        Workflow.model_validate(agent_with(outcome={"enum": ["done", "aborted"]}))


def test_contract_is_frozen() -> None:
    limits = Limits()
    with pytest.raises(ValidationError):
        limits.max_steps = 3


def test_building_does_not_change_the_document() -> None:
    before = copy.deepcopy(WORKFLOW)
    Workflow.model_validate(WORKFLOW)
    assert before == WORKFLOW


@pytest.mark.parametrize("name", sorted(contracts()))
def test_every_field_says_what_it_is(name: str) -> None:
    """The descriptions are hover text in editors and rows of the language reference."""
    contract = contracts()[name]
    assert issubclass(contract, Contract)
    described = field_descriptions(contract)
    names = {field.alias or name for name, field in contract.model_fields.items()}
    assert names == described.keys()
    assert all(text.rstrip("`").endswith(".") for text in described.values())


def test_every_step_kind_is_among_the_documents() -> None:
    kinds = {step["kind"] for step in STEPS if isinstance(step, dict)}
    branches = shape_problems(workflow_with({"id": "x", "kind": "?"}), kind="Workflow")
    assert branches[0].hint
    assert all(str(kind) in branches[0].hint for kind in kinds)
    assert len(kinds) == branches[0].hint.count(",") + 1


def test_autonomous_fields_are_all_exercised() -> None:
    """A field that no test document uses could change its meaning unseen."""
    assert contracts()["AutonomousAgent"].model_fields.keys() == AUTONOMOUS.keys()


def test_router_takes_exactly_one_form() -> None:
    for forms in ({}, {"match": {"field": "a"}, "when": [{"if": "{{ a }}", "signal": "x"}]}):
        step = {"id": "r", "kind": "Router", **forms}
        with pytest.raises(ValidationError):
            Workflow.model_validate(workflow_with(step))
    step = {"id": "r", "kind": "Router", "match": {"field": "a"}, "when": None}
    assert isinstance(Workflow.model_validate(workflow_with(step)).spec.steps[0], RouterStep)
