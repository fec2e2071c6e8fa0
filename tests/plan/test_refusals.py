"""What can be written and not be run: said at once, before anything happens."""

import json

import pytest

from tests.engine.run_support import Project, Seen
from tests.plan.test_compile_workflow import agent
from tuvl.errors import ConfigError

FIELDS = {
    "audit": True,
    "compaction": {"max_tokens": 1000},
    "conclude": {"margin": 1},
    "context_limits": {"max_messages": 9},
    "continue_on_stop": "helper",
    "conversation": "helper",
    "heartbeat_s": 5,
    "reserve": {"reserve": "helper"},
    "steer_mode": "interrupt",
    "stream": True,
    "tool_concurrency": 2,
    "tool_surface": "helper",
    "trim": "helper",
}
HELPER = "- { id: helper, kind: Functional, runner: set, values: { x: 1 } }"


def surroundings(tmp_path) -> Project:
    project = Project(tmp_path)
    artifact = {"kind": "Artifact", "metadata": {"name": "desk"}, "spec": {"type": "mcp", "transport": "stdio"}}
    artifact["spec"]["command"] = "desk"
    mask = {"kind": "Artifact", "metadata": {"name": "mask"}, "spec": {"type": "guardrail"}}
    mask["spec"]["checks"] = [{"check": "pii_mask"}]
    hook = {
        "kind": "Artifact",
        "metadata": {"name": "hook"},
        "spec": {"type": "hook", "on": "on_error", "action": "log"},
    }
    (tmp_path / "artifacts").mkdir()
    for document in (artifact, mask, hook):
        (tmp_path / "artifacts" / f"{document['metadata']['name']}.yaml").write_text(json.dumps(document))
    model = {"kind": "ModelDefinition", "metadata": {"name": "Order"}}
    model["spec"] = {"tablename": "orders", "fields": [{"name": "id", "type": "integer", "primary_key": True}]}
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "order.yaml").write_text(json.dumps(model))
    other = {"kind": "Workflow", "metadata": {"name": "other"}}
    other["spec"] = {"steps": [{"id": "a", "kind": "Functional", "runner": "set", "values": {"x": 1}}]}
    (tmp_path / "workflows" / "other.yaml").write_text(json.dumps(other))
    return project


async def refusal(project: Project) -> str:
    seen = Seen()
    with pytest.raises(ConfigError, match="workflow 'flow' cannot run: ") as refused:
        await project.run(sinks=[seen])
    assert seen.events == []
    return str(refused.value)


@pytest.mark.parametrize("field", FIELDS)
async def test_a_field_of_an_agent_is_no_reason_to_refuse(tmp_path, field):
    """E11 config.unenforced."""
    project = surroundings(tmp_path).workflow(agent(**{field: FIELDS[field]}) + "\n" + HELPER)
    assert project.plan().refusals == ()


async def test_a_field_that_asks_for_nothing_is_no_reason_to_refuse(tmp_path):
    project = surroundings(tmp_path).workflow(agent(stream=False), durable=False, hooks=[])
    assert project.plan().refusals == ()


async def test_what_the_policy_forbids_is_refused_by_name(tmp_path):
    project = Project(tmp_path, agent(model="quick", steering="artifact://rules"))
    project.artifact("rules", "steering", "Rules.").model("done", name="quick")
    project.config(
        policy={"allow_models": ["openai/*"], "require_pins": True, "require_approval": {"effects": ["write"]}}
    )
    said = await refusal(project)
    assert "calls model 'quick' (scripted), which is none that `policy.allow_models` allows ('openai/*')" in said
    assert "'artifact://rules' names no version" in said
    assert "approval" not in said


async def test_what_the_policy_allows_runs(tmp_path):
    tools = [{"ref": "look", "description": "d"}]
    steps = agent(model="quick", steering="artifact://rules@1", tools=tools).splitlines()[0]
    steps += "\n- { id: look, kind: Functional, runner: set, values: { x: 1 }, effects: read }"
    project = Project(tmp_path, steps).artifact("rules", "steering", "Rules.").model("done", name="quick")
    project.config(policy={"allow_models": ["quick"], "require_pins": True, "require_approval": {"effects": ["write"]}})
    assert (await project.run()).status == "completed"
