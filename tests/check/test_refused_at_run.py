"""What a run refuses for reasons that stand in the files is an error of validate, and the other way round."""

import json
import re
from pathlib import Path

import pytest

from tests.check.checking import check, of, workflow
from tests.engine.run_support import Project
from tuvl.check.finding import Report, Severity
from tuvl.errors import ConfigError
from tuvl.llm.settings import CallSettings
from tuvl.plan.compile import compile_workflow
from tuvl.project.index import ProjectIndex
from tuvl.tools.approval import StandingAnswer
from tuvl.values import JsonObject

MODELS = {
    "llms/small.yaml": "kind: AgentModel\nmetadata: { name: small }\nspec: { provider: openai, model: gpt-4.1-mini }\n",
    "llms/large.yaml": "kind: AgentModel\nmetadata: { name: large }\nspec: { provider: azure, model: gpt-4.1 }\n",
    "artifacts/judge.yaml": """\
        kind: Artifact
        metadata: { name: judge, version: 1 }
        spec: { type: guardrail, checks: [{ check: llm_judge, model: large, criteria: Is it kind? }] }
        """,
}
LOOK = "- { id: look, kind: Functional, runner: set, values: { x: 1 }, description: Looks. }"


def agent(**fields: object) -> str:
    """Steps: an autonomous agent with these fields beside the necessary ones, and its tool."""
    block = {"model": "small", "steering": "Go.", "tools": [{"ref": "look"}], "max_wall_clock_s": 60, **fields}
    return f"- {json.dumps({'id': 'a', 'kind': 'Agent', 'mode': 'autonomous', 'agent': block})}\n{LOOK}"


def project(steps: str, policy: dict[str, object] | None = None, head: str = "") -> dict[str, str]:
    config = json.dumps({"kind": "ProjectConfig", "spec": {"policy": policy or {}}})
    return {"tuvl.yaml": config, **MODELS, **workflow(steps, head)}


def runs(folder: Path) -> bool:
    index = ProjectIndex(folder)
    document = index.workflow("w")
    assert document is not None
    try:
        return not compile_workflow(document, index).refusals
    except ConfigError:
        return False


def errors(report: Report) -> list[str]:
    return [f"{finding.code} {finding.path}" for finding in report.findings if finding.severity is Severity.ERROR]


OPENAI_ONLY = {"allow_models": ["openai/*"]}
SHOP_ONLY = {"allow_hosts": ["*.shop.example"]}
CALL = '- {{ id: c, kind: APICall, http: {{ url: "https://{host}/x" }} }}'
SUPERVISOR = {"watches": ["a"], "rules": [{"when": "iteration_reached", "gte": 3, "then": "abort"}]}

REFUSED = {
    "model": (project(agent(model="large"), OPENAI_ONLY), "TV219 spec.steps[0].agent.model"),
    "model of a judge": (
        project(agent(guardrails={"output": ["artifact://judge@1"]}), OPENAI_ONLY),
        "TV219 spec.steps[0].agent.guardrails.output[0]",
    ),
    "model of a summary": (
        project(agent(compaction={"max_tokens": 9000, "model": "large"}), OPENAI_ONLY),
        "TV219 spec.steps[0].agent.compaction.model",
    ),
    "no model allowed at all": (project(agent(), {"allow_models": []}), "TV219 spec.steps[0].agent.model"),
    "host": (project(CALL.format(host="elsewhere.example"), SHOP_ONLY), "TV219 spec.steps[0].http.url"),
    "no window": (project(agent(compaction={"recent_tail": 4})), "TV603 spec.steps[0].agent.compaction"),
    "reserve": (
        project(agent(compaction={"max_tokens": 300, "reserve": 400})),
        "TV603 spec.steps[0].agent.compaction.reserve",
    ),
    "reply as long as the window": (
        project(agent(compaction={"max_tokens": 300}, max_output_tokens=300)),
        "TV603 spec.steps[0].agent.compaction",
    ),
}

ACCEPTED = {
    "model": project(agent(), OPENAI_ONLY),
    "model by the name of its preset": project(agent(model="large"), {"allow_models": ["large"]}),
    "host": project(CALL.format(host="api.shop.example"), SHOP_ONLY),
    "window": project(agent(compaction={"max_tokens": 9000})),
    "reserve": project(agent(compaction={"max_tokens": 500, "reserve": 400})),
    "switched off": project(LOOK, head="durable: false"),
    "approval by policy": project(agent(), {"require_approval": {"effects": ["write"]}}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_run_refuses_is_an_error_with_its_place(case: str, tmp_path: Path) -> None:
    files, error = REFUSED[case]
    assert errors(check(tmp_path, files)) == [error]
    assert not runs(tmp_path)


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_validate_accepts_begins_to_run(case: str, tmp_path: Path) -> None:
    assert errors(check(tmp_path, ACCEPTED[case])) == []
    assert runs(tmp_path)


def test_no_comment_and_no_setting_hides_what_the_policy_forbids(tmp_path: Path) -> None:
    files = project(agent(model="large"), OPENAI_ONLY)
    files["tuvl.yaml"] = json.dumps(
        {"kind": "ProjectConfig", "spec": {"policy": OPENAI_ONLY, "checks": {"severity": {"TV219": "note"}}}}
    )
    lines = files["workflows/w.yaml"].splitlines()
    lines = [line + ("  # tuvl: ignore[TV219] it is fine" if "Agent" in line else "") for line in lines]
    files["workflows/w.yaml"] = "\n".join(lines) + "\n"
    assert [finding.severity for finding in of(check(tmp_path, files), "TV219")] == [Severity.ERROR]


def test_a_model_named_for_one_run_is_held_against_the_policy_by_the_run(tmp_path: Path) -> None:
    check(tmp_path, project(agent(), OPENAI_ONLY))
    index = ProjectIndex(tmp_path)
    document = index.workflow("w")
    assert document is not None
    (refusal,) = compile_workflow(document, index, models={"small": "large"}).refusals
    assert "calls model 'large' (azure/gpt-4.1)" in refusal


@pytest.mark.parametrize("approval", [None, "never", "{{ args.sure == true }}", "required"])
@pytest.mark.parametrize("approved", [True, False], ids=["approved", "refused"])
async def test_the_policy_has_a_person_asked_whatever_the_tool_says(tmp_path: Path, approval, approved: bool) -> None:
    made = Project(tmp_path).config(policy={"require_approval": {"effects": ["write"]}})
    made.model({"tool_calls": [{"name": "mark", "arguments": {"sure": False}}]}, "done")
    tool = {"ref": "mark", "writes_context": True, **({} if approval is None else {"approval": approval})}
    block = {"model": "default", "steering": "Go.", "tools": [tool]}
    step = {"id": "a", "kind": "Agent", "mode": "autonomous", "agent": block}
    made.workflow(
        f"- {json.dumps(step)}\n- {{id: mark, kind: Functional, runner: set, values: {{ x: 1 }}, description: M}}"
    )
    made.approvals = StandingAnswer(approved=approved, by="a test", note=None)
    result = await made.run(trace=True)
    assert ("x" in result.context) is approved
    (answered,) = [entry for entry in result.trace or () if entry["type"] == "tool_result"]
    assert answered["approval"] == {"approved": approved, "by": "a test"}


async def test_tools_of_other_effects_are_not_asked_about(tmp_path: Path) -> None:
    made = Project(tmp_path).config(policy={"require_approval": {"effects": ["write"]}})
    made.model({"tool_calls": [{"name": "look", "arguments": {}}]}, "done")
    block = {"model": "default", "steering": "Go.", "tools": [{"ref": "look", "writes_context": True}]}
    step = {"id": "a", "kind": "Agent", "mode": "autonomous", "agent": block}
    made.workflow(f"- {json.dumps(step)}\n{LOOK[:-2]}, effects: read }}")
    assert (await made.run()).context["x"] == 1


BASES = {
    "no scheme": ("models.example/v1", "is not an http(s) URL"),
    "another scheme": ("ftp://models.example/v1", "is not an http(s) URL"),
    "a file": ("file:///etc/hosts", "is not an http(s) URL"),
    "no host": ("https:///v1", "names no host"),
    "only a port": ("http://:8080/v1", "names no host"),
    "a word for a port": ("http://models.example:eighty/v1", "a host or a port that is none"),
    "an unclosed address": ("http://[::1/v1", "a host or a port that is none"),
    "a space": ("https://models example/v1", "has white space in it"),
    "a line break": ("https://models.example/v1\\nX: y", "has white space in it"),
    "a password": ("https://me:secret@models.example/v1", "holds a user name or a password"),
    "a query": ("https://models.example/v1?key=1", "has a query or a fragment"),
    "a fragment": ("https://models.example/v1#top", "has a query or a fragment"),
    "another scheme before a variable": ("ws://${HOST}/v1", "is not an http(s) URL"),
    "a variable as a password": ("https://me:${KEY}@models.example/v1", "holds a user name or a password"),
}
GOOD_BASES = [
    "https://models.example/v1",
    "http://127.0.0.1:8080/v1",
    "HTTP://[::1]:8080",
    "  https://models.example  ",
    "${BASE}",
    "${BASE:}",
    "http${S}://models.example",
    "https://${HOST}:${PORT}/v1",
    "https://${REGION:eu}.models.example/${PATH}",
]


def preset_at(base: str) -> dict[str, str]:
    preset = (
        f'kind: AgentModel\nmetadata: {{ name: small }}\nspec: {{ provider: openai, model: m, api_base: "{base}" }}\n'
    )
    return {**project(agent()), "llms/small.yaml": preset}


@pytest.mark.parametrize(("base", "said"), BASES.values(), ids=BASES)
def test_base_that_is_no_url_is_told_before_a_run_and_refused_by_it(tmp_path: Path, base: str, said: str) -> None:
    (found,) = of(check(tmp_path, preset_at(base)), "TV220")
    assert said in found.message
    assert (found.path, found.severity) == ("spec.api_base", Severity.ERROR)
    assert "secret" not in found.message
    assert not runs(tmp_path)


@pytest.mark.parametrize("base", GOOD_BASES)
def test_base_that_is_a_url_or_may_be_one_is_not_refused(tmp_path: Path, base: str) -> None:
    assert of(check(tmp_path, preset_at(base)), "TV220") == []
    assert runs(tmp_path)


RESERVED = {
    "another model": ({"model": "gpt-5"}, "model"),
    "its own tools": ({"tools": []}, "tools"),
    "its own messages": ({"messages": []}, "messages"),
    "a stream": ({"stream": True}, "stream"),
    "many replies": ({"n": 8}, "n"),
    "many replies in the body": ({"extra_body": {"n": 8, "min_p": 0.1}}, "extra_body.n"),
    "many replies by another name": ({"best_of": 8}, "best_of"),
    "another model in the body": ({"extra_body": {"model": "gpt-5"}}, "extra_body.model"),
    "retries of another layer": ({"max_retries": 5}, "max_retries"),
    "other models after it": ({"fallbacks": ["openai/gpt-5"]}, "fallbacks"),
    "a price of its own": ({"input_cost_per_token": 0}, "input_cost_per_token"),
    "a deadline of its own": ({"timeout": 3600}, "timeout"),
}
OWN_SETTINGS = {
    "sampling": {"top_p": 0.5, "seed": 3, "reasoning_effort": "low"},
    "a longest reply": {"max_completion_tokens": 300},
    "a body and headers": {"extra_body": {"min_p": 0.1, "max_retries": 3}, "extra_headers": {"n": "8"}},
    "a variable": {"extra_body": "${BODY}"},
}


def preset_with(extra: object, provider: str = "openai") -> dict[str, str]:
    spec = {"provider": provider, **({"replies": ["x"]} if provider == "scripted" else {"model": "m"}), "extra": extra}
    preset = json.dumps({"kind": "AgentModel", "metadata": {"name": "small"}, "spec": spec})
    return {**project(agent()), "llms/small.yaml": preset}


@pytest.mark.parametrize(("extra", "name"), RESERVED.values(), ids=RESERVED)
def test_setting_that_is_not_the_presets_is_told_before_a_run_and_refused_by_it(
    tmp_path: Path, extra: JsonObject, name: str
) -> None:
    (found,) = of(check(tmp_path, preset_with(extra)), "TV220")
    assert found.message.startswith(f"`extra` may not set {name!r}: ")
    assert (found.path, found.severity) == (f"spec.extra.{name}", Severity.ERROR)
    assert not runs(tmp_path)
    with pytest.raises(
        ConfigError, match=re.escape(found.message)
    ):  # who makes a model without a file is told the same
        CallSettings(name="small", model="m", extra=extra)


@pytest.mark.parametrize("extra", OWN_SETTINGS.values(), ids=OWN_SETTINGS)
def test_other_settings_are_the_presets_own(tmp_path: Path, extra: JsonObject) -> None:
    assert of(check(tmp_path, preset_with(extra)), "TV220") == []
    assert runs(tmp_path)
    CallSettings(name="small", model="m", extra=extra)


def test_scripted_model_sends_no_settings_so_that_none_is_refused(tmp_path: Path) -> None:
    assert of(check(tmp_path, preset_with({"n": 8}, provider="scripted")), "TV220") == []
    assert runs(tmp_path)
