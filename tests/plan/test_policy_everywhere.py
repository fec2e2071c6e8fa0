"""The policy on models and hosts holds wherever the language names one, in `validate` and in a run alike."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.changes.test_every_field import KNOWN, definitions
from tests.check.checking import check
from tests.check.test_refused_at_run import LOOK, agent, errors, project, runs
from tuvl.errors import ConfigError
from tuvl.http.client import HttpClient
from tuvl.llm.factory import make_model
from tuvl.plan.compile import compile_workflow
from tuvl.project.index import ProjectIndex
from tuvl.spec.llm import AgentModel
from tuvl.spec.provider_settings import is_address
from tuvl.spec.shape import table
from tuvl.spec.table import AnyOfNode, ScalarNode

POLICY = {"allow_models": ["openai/*"], "allow_hosts": ["*.shop.example"]}
SUPERVISOR = {"watches": ["a"], "judge": {"model": "large", "criteria": "Is it going on?"}}
TEST = """\
kind: WorkflowTest
metadata: { name: t }
spec: { workflow: w, input: {}, expect: { judge: [{ name: kind, over: output, criteria: Is it kind?, model: large }] } }
"""
MCP = "kind: Artifact\nmetadata: { name: s }\nspec: { type: mcp, transport: http, url: 'https://evil.example/mcp' }\n"
HOOK = "kind: Artifact\nmetadata: { name: h }\nspec: { type: hook, on: after_step, action: notify, target: note }\n"
NOTE = '- { id: note, kind: APICall, http: { url: "https://evil.example/n" } }'


def head(**spec: object) -> str:
    return "\n".join(f"{name}: {json.dumps(value)}" for name, value in spec.items())


def preset(**spec: object) -> dict[str, str]:
    """The model that the agent calls, with these fields."""
    block = {"provider": "openai", "model": "gpt-4.1-mini", **spec}
    return {"llms/small.yaml": json.dumps({"kind": "AgentModel", "metadata": {"name": "small"}, "spec": block})}


def default_model(name: str) -> dict[str, str]:
    files = project(agent(model=None), POLICY)
    config = json.loads(files["tuvl.yaml"])
    config["spec"]["default_model"] = name
    return {**files, "tuvl.yaml": json.dumps(config)}


Files = Mapping[str, str]
MODEL_PLACES: dict[str, Files] = {
    "CompletionAgent.model": project(
        "- { id: a, kind: Agent, mode: completion, agent: { model: large, prompt: Go. } }", POLICY
    ),
    "AutonomousAgent.model": project(agent(model="large"), POLICY),
    "Compaction.model": project(agent(compaction={"max_tokens": 9000, "model": "large"}), POLICY),
    "LlmJudgeCheck.model": project(agent(guardrails={"input": ["artifact://judge@1"]}), POLICY),
    "Judge.model": project(agent(), POLICY, head(supervisor=SUPERVISOR)),
    "ProjectSpec.default_model": default_model("large"),
    "JudgedAssertion.model": {**project(LOOK, POLICY), "tests/t.yaml": TEST},
}
HOST_PLACES: dict[str, Files] = {
    "Http.url": project(NOTE, POLICY),
    "RemoteServer.url": {
        **project("- { id: a, kind: MCP, mcp: { server: artifact://s@1, tool: x } }", POLICY),
        "artifacts/s.yaml": MCP,
    },
    "ModelSpec.api_base": {**project(agent(), POLICY), **preset(api_base="https://evil.example/v1")},
    "ModelSpec.extra": {**project(agent(), POLICY), **preset(extra={"base_url": "https://evil.example/v1"})},
    "ModelSpec.extra of a body": {
        **project(agent(), POLICY),
        **preset(extra={"extra_body": {"api_base": "https://evil.example/v1"}}),
    },
    "NotifyHook.target": {
        **project(f"{LOOK}\n{NOTE}", POLICY, head(hooks=["artifact://h@1"])),
        "artifacts/h.yaml": HOOK,
    },
    "ModelSpec.api_base of a supervisor": {
        **project(agent(), POLICY, head(supervisor={**SUPERVISOR, "judge": {"model": "far", "criteria": "Is it so?"}})),
        "llms/far.yaml": preset(api_base="https://evil.example/v1")["llms/small.yaml"].replace('"small"', '"far"'),
    },
}
ELSEWHERE = {
    "ModelSpec.model": "a preset is judged where it is called",
    "ModelOpStep.model": "a data model",
    "Relation.model": "a data model",
    "ScriptedReply.model": "what a recording says of its reply",
    "Connection.host": "a database, which no HTTP call reaches",
    "ArtifactSource.url": "nothing is fetched from there",
}
ALL = {**KNOWN, **definitions(table("WorkflowTest").root, {})}


def named(wanted: str) -> set[str]:
    """The fields of the language that are texts, and by their names a model, or an address."""
    found = set()
    for definition, node in ALL.items():
        for field, inner in node.fields.items():
            parts = inner.branches if isinstance(inner, AnyOfNode) else (inner,)
            is_text = any(isinstance(part, ScalarNode) and str in part.types for part in parts)
            by_name = field.endswith("model") if wanted == "model" else is_address(field)
            if is_text and by_name:
                found.add(f"{definition}.{field}")
    return found


def test_every_place_that_names_a_model_or_a_host_is_looked_at() -> None:
    """A new field that names a model or a host has to be put under the policy, or said why not."""
    assert named("model") - ELSEWHERE.keys() == MODEL_PLACES.keys()
    assert named("address") - ELSEWHERE.keys() == {name for name in HOST_PLACES if " " not in name} - {
        "NotifyHook.target",
        "ModelSpec.extra",
    }


PLACES = {**MODEL_PLACES, **HOST_PLACES}


@pytest.mark.parametrize("files", PLACES.values(), ids=PLACES)
def test_what_the_policy_forbids_is_an_error_and_does_not_run(tmp_path: Path, files: Files) -> None:
    found = errors(check(tmp_path, dict(files)))
    assert [error.split()[0] for error in found] == ["TV219"]
    if "tests/t.yaml" not in files:  # a judge of a scenario is no part of a run
        assert not runs(tmp_path)


@pytest.mark.parametrize("files", PLACES.values(), ids=PLACES)
def test_the_same_without_the_policy_is_sound(tmp_path: Path, files: Files) -> None:
    config = {
        "kind": "ProjectConfig",
        "spec": {"default_model": json.loads(files["tuvl.yaml"])["spec"].get("default_model")},
    }
    assert errors(check(tmp_path, {**files, "tuvl.yaml": json.dumps(config)})) == []
    assert runs(tmp_path)


@pytest.mark.parametrize(
    "spec", [{"api_base": "${BASE}"}, {"extra": {"azure_endpoint": "${BASE}"}}, {"api_base": "https://${BASE:h}/v1"}]
)
def test_address_from_a_variable_is_judged_when_the_model_is_made(tmp_path: Path, spec: dict[str, object]) -> None:
    block = {"provider": "openai", "model": "m", **spec}
    model = AgentModel.model_validate({"kind": "AgentModel", "metadata": {"name": "small"}, "spec": block})
    http = HttpClient()

    def made(base: str) -> object:
        only = tuple(POLICY["allow_hosts"])
        return make_model("small", model, environ={"BASE": base}, script_dir=tmp_path, http=http, only_hosts=only)

    bare = str(block.get("api_base", "")).startswith("https://")
    with pytest.raises(ConfigError, match="none that `policy\\.allow_hosts` allows"):
        made("evil.example" if bare else "https://evil.example/v1")
    assert made("a.shop.example" if bare else "https://a.shop.example/v1")


def test_plan_carries_the_hosts_to_where_models_are_made(tmp_path: Path) -> None:
    check(tmp_path, project(agent(), POLICY))
    index = ProjectIndex(tmp_path)
    document = index.workflow("w")
    assert document is not None
    action = compile_workflow(document, index).steps["a"].action
    assert action.model.only_hosts == ("*.shop.example",)  # type: ignore[union-attr]
