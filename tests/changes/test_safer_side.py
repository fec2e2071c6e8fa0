"""What may silence a check, move data or let a run go further is told as that, where nobody can tell the more so."""

from pathlib import Path
from typing import Any

import pytest

from tests.changes.samples import doc, side
from tests.changes.test_change_classes import FILES, W, compared
from tuvl.changes.change import CODES, GRAVE, Change
from tuvl.changes.compare import compare_pair

MODEL = {"provider": "openai", "model": "gpt-4.1-mini"}


def told(tmp_path: Path, kind: str, old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    state = side(tmp_path)
    docs = [doc(state, {"kind": kind, "metadata": {"name": "d"}, "spec": spec}) for spec in (old, new)]
    return [change for change in compare_pair(*docs).changes if change.cls in GRAVE]


URL = "https://evil.example/v1"
SETTINGS = [
    ({}, {"api_base": URL}, "provider-moved"),
    ({}, {"base_url": URL}, "provider-moved"),
    ({"azure_endpoint": URL}, {}, "provider-moved"),
    ({}, {"extra_body": {"proxy_url": URL}}, "provider-moved"),
    ({"max_completion_tokens": 5}, {"max_completion_tokens": 9}, "bound-raised"),
    ({"extra_body": {"max_tokens": 5}}, {"extra_body": {}}, "bound-removed"),
    ({}, {"service_tier": "priority"}, "setting-unknown"),
    ({"safety_settings": [1]}, {"safety_settings": []}, "setting-unknown"),
    ({}, {"extra_headers": {"X-Route": "elsewhere"}}, "setting-unknown"),
]
STYLES = [
    ({}, {"top_p": 0.5}),
    ({"seed": 1}, {"seed": 2}),
    ({}, {"extra_body": {"stop": ["x"]}}),
    ({"extra_headers": {"Authorization": "${A}"}}, {"extra_headers": {"Authorization": "${B}"}}),
    ({"max_tokens": 9}, {"max_tokens": 5}),
]


@pytest.mark.parametrize(("old", "new", "code"), SETTINGS)
def test_setting_of_a_provider_is_told_by_what_it_may_do(
    tmp_path: Path, old: dict[str, Any], new: dict[str, Any], code: str
) -> None:
    found = told(tmp_path, "AgentModel", {**MODEL, "extra": old}, {**MODEL, "extra": new})
    assert [change.code for change in found] == [code]


@pytest.mark.parametrize(("old", "new"), STYLES)
def test_setting_that_only_says_how_a_model_answers_widens_nothing(
    tmp_path: Path, old: dict[str, Any], new: dict[str, Any]
) -> None:
    assert told(tmp_path, "AgentModel", {**MODEL, "extra": old}, {**MODEL, "extra": new}) == []


def test_other_provider_is_another_address_and_a_script_is_none(tmp_path: Path) -> None:
    other = {**MODEL, "provider": "elsewhere"}
    script = {"provider": "scripted", "replies": ["x"]}
    assert [change.code for change in told(tmp_path, "AgentModel", MODEL, other)] == ["provider-moved"]
    assert told(tmp_path, "AgentModel", MODEL, script) == []
    assert [change.code for change in told(tmp_path, "AgentModel", script, MODEL)] == ["provider-moved"]


def mask(**fields: Any) -> dict[str, Any]:
    return {"type": "guardrail", "checks": [{"check": "pii_mask", **fields}]}


def test_masking_that_is_left_to_the_data_models_or_taken_from_them_may_mask_less(tmp_path: Path) -> None:
    """Fault 15: without `fields` the secure ones of the data models are masked, not all there are."""
    for old, new in ((mask(fields=["nickname"]), mask()), (mask(), mask(fields=["nickname"]))):
        (change,) = told(tmp_path, "Artifact", old, new)
        assert (change.code, change.may) == ("guardrail-weakened", True)
    assert told(tmp_path, "Artifact", mask(fields=["a"]), mask(fields=["a", "b"])) == []


def judged(**fields: Any) -> dict[str, Any]:
    judge = {"check": "llm_judge", "model": "openai/a", "criteria": "Is it kind?", **fields}
    return {"type": "guardrail", "checks": [judge]}


@pytest.mark.parametrize(
    ("fields", "code"), [({"criteria": "Anything goes."}, "criteria-changed"), ({"model": "openai/b"}, "judge-changed")]
)
def test_judge_that_judges_otherwise_may_let_more_pass(tmp_path: Path, fields: dict[str, str], code: str) -> None:
    assert [change.code for change in told(tmp_path, "Artifact", judged(), judged(**fields))] == [code]


def test_criteria_behind_the_same_reference_are_what_a_judge_judges_by(tmp_path: Path) -> None:
    guard = FILES["artifacts/guard.yaml"].replace("criteria: Be fair.", "criteria: artifact://fair@1")
    assert guard != FILES["artifacts/guard.yaml"]
    states = [
        {**FILES, "artifacts/guard.yaml": guard, "artifacts/fair.md": f"---\nname: fair\ntype: steering\n---\n{text}\n"}
        for text in ("Is it fair?", "Anything goes.")
    ]
    assert "criteria-changed" in {change.code for change, _ in compared(tmp_path, *states) if change.cls is W}


def flow(step: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"steps": [{"id": "a", **step}], **spec}


ASK = {"kind": "HumanInTheLoop", "human_feedback": [{"name": "why", "type": "text", "required": True}]}
TOOL = {"id": "t", "kind": "Functional", "runner": "set", "values": {"x": 1}}


def loop(**fields: Any) -> dict[str, Any]:
    return flow({"kind": "Agent", "mode": "autonomous", "agent": {"model": "m", "tools": [{"ref": "t"}], **fields}})


def listed(**fields: Any) -> dict[str, Any]:
    return flow({"kind": "ModelOp", "model": "Order", "operation": "list", **fields}, context="Order")


WIDER = [
    (flow(TOOL), flow(TOOL, trigger={"schedule": "0 * * * *"}), "trigger-scheduled"),
    (
        flow(TOOL, trigger={"path": "/x", "schedule": "0 1 * * *"}),
        flow(TOOL, trigger={"path": "/x", "schedule": "* * * * *"}),
        "trigger-scheduled",
    ),
    (flow({**TOOL, "idempotency_key": "{{ id }}"}), flow(TOOL), "write-repeatable"),
    (flow({**TOOL, "idempotency_key": "{{ id }}"}), flow({**TOOL, "idempotency_key": "{{ now }}"}), "write-repeatable"),
    (loop(audit=True), loop(audit=False), "audit-off"),
    (loop(), loop(audit=False), "audit-off"),
    (loop(dedup_within_turn=True), loop(), "bound-removed"),
    (loop(tool_error_policy="fail"), loop(), "bound-raised"),
    (loop(conclude={"offer_tools": False}), loop(), "tool-offered"),
    (loop(), loop(conversation={"store": "sql", "id": "x"}), "conversation-changed"),
    (loop(compaction={"max_tokens": 9}), loop(), "bound-removed"),
    (listed(filters={"of": "{{ me }}"}), listed(filters={"of": "{{ all }}"}), "filter-changed"),
    (
        flow({**ASK, "ui": {"title": "x", "display_context": ["sum", "to"]}}),
        flow({**ASK, "ui": {"title": "x", "display_context": ["to"]}}),
        "approval-weakened",
    ),
    (
        flow(ASK),
        flow({**ASK, "human_feedback": [{**ASK["human_feedback"][0], "required": False}]}),
        "approval-weakened",
    ),
    (
        flow({"kind": "Agent", "mode": "completion", "agent": {"model": "m", "prompt": "x"}}),
        flow(
            {
                "kind": "Agent",
                "mode": "completion",
                "agent": {"model": "m", "prompt": "x", "outcome": {"format": "json"}},
            }
        ),
        "context-written",
    ),
    (loop(model="openai/a"), loop(model="elsewhere/a"), "provider-moved"),
]


@pytest.mark.parametrize(
    ("old", "new", "code"), WIDER, ids=[f"{case[2]}-{number}" for number, case in enumerate(WIDER)]
)
def test_field_that_lets_more_happen_is_told_as_that(
    tmp_path: Path, old: dict[str, Any], new: dict[str, Any], code: str
) -> None:
    assert CODES[code].cls is W
    assert code in [change.code for change in told(tmp_path, "Workflow", old, new)]


def test_model_of_the_same_provider_changes_behaviour(tmp_path: Path) -> None:
    assert told(tmp_path, "Workflow", loop(model="openai/a"), loop(model="openai/b")) == []


def test_bound_beyond_all_floats_is_compared(tmp_path: Path) -> None:
    huge = 10**400
    limited = [flow(TOOL, limits={"max_tokens": most}) for most in (5, huge)]
    assert [change.code for change in told(tmp_path, "Workflow", *limited)] == ["bound-raised"]
    schemas = ({"multipleOf": huge, "type": "integer"}, {"type": "integer"})
    loops = [flow(TOOL, input={"properties": {"n": schema}}) for schema in schemas]
    assert told(tmp_path, "Workflow", *loops) == []
