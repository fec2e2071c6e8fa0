"""What compiling resolves: entry, fall-through, texts, models, tools, limits, refusals."""

import json

import pytest

from tests.engine.run_support import Project
from tuvl.errors import ConfigError
from tuvl.plan.model import AgentPlan, ApiCallPlan, FunctionalPlan

SET = "- { id: a, kind: Functional, runner: set, values: { x: 1 } }"


def agent(**fields: object) -> str:
    block = {"model": "default", "steering": "Do it.", "tools": [{"ref": "tool", "description": "d"}], **fields}
    step = {"id": "agent", "kind": "Agent", "mode": "autonomous", "agent": block}
    tool = {"id": "tool", "kind": "Functional", "runner": "set", "values": {"x": 1}}
    return "\n".join(f"- {json.dumps(each)}" for each in (step, tool))


def agent_plan(project: Project, **models: str) -> AgentPlan:
    action = project.plan(**models).steps["agent"].action
    assert isinstance(action, AgentPlan)
    return action


def test_steps_that_others_only_name_are_off_the_spine(tmp_path):
    steps = agent().splitlines()
    plan = Project(tmp_path, "\n".join([steps[1], steps[0], SET])).plan()
    assert plan.entry == "agent"
    assert [plan.steps[name].next for name in ("tool", "agent", "a")] == [None, "a", None]


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("- { id: a, kind: Functional, runner: set, values: {}, routes: { default: nope } }", "'nope'"),
        ("- { id: a, kind: Functional, runner: lookup }", "runner 'lookup'"),
        (f"{SET}\n{SET}", "'a'"),
        ("- { id: a, kind: Functionla, runner: set, values: {} }", "kind"),
        ('- { id: a, kind: Functional, runner: set, values: { x: "{{ y" } }', "values"),
        ('- { id: a, kind: Functional, runner: set, values: { x: "{{ y.__class__ }}" } }', "step 'a'"),
        ("- { id: a, kind: Response, source: order..total }", "dot path 'order..total': a segment is empty"),
        (agent(tools=[{"ref": "nope", "description": "d"}]), "tool 'nope'"),
        (agent(tools=[{"ref": "agent", "description": "d"}]), "names itself"),
        (agent(outcome={"enum": ["resolved"]}), "'resolved'"),
        (agent(outcome={"enum": ["error"]}), "error"),
        (agent(steering="artifact://rules@9"), "there is no artifact 'artifact://rules@9'"),
        (agent(skills=["artifact://voice@1"]), "of type 'prompt'"),
        (agent(tools=[{"ref": "tool", "description": "d", "parameters": {"type": "objekt"}}]), "no JSON Schema"),
        (agent(outcome={"schema": {"type": 7}}), "no JSON Schema"),
    ],
)
def test_a_mistake_in_the_file_does_not_compile_and_is_named(tmp_path, steps, said):
    """N01 wf.dangling: the same facts as the check, wherever a plan is made."""
    project = Project(tmp_path, steps).artifact("voice", "prompt", "Be kind.")
    with pytest.raises(ConfigError, match=r"flow\.yaml") as refused:
        project.plan()
    assert said in str(refused.value)


def test_a_bad_input_schema_does_not_compile(tmp_path):
    with pytest.raises(ConfigError, match=r"`spec\.input` is no JSON Schema"):
        Project(tmp_path, SET, input={"type": "objekt"}).plan()


def test_artifacts_are_resolved_and_literal_unless_they_say_that_they_are_templates(tmp_path):
    project = Project(tmp_path, agent(steering="artifact://rules", skills=["artifact://notes@1"]))
    project.artifact("rules", "steering", "old", version=1)
    project.artifact("rules", "steering", "For {{ customer }}", version=2, template=True)
    project.artifact("notes", "skill", "Write {{ it }} down")
    plan = agent_plan(project)
    assert plan.steering is not None
    assert plan.steering.render_text({"customer": "Ann"}).strip() == "For Ann"
    assert plan.skills[0].render_text({}).strip() == "Write {{ it }} down"


def test_the_models_of_agents_come_from_the_project_and_are_replaced_by_name(tmp_path):
    project = Project(tmp_path, agent(model="quick"))
    project.model(name="default").model(name="quick").model(name="best")
    assert agent_plan(project).model.name == "quick"
    assert agent_plan(project, quick="best").model.name == "best"
    assert agent_plan(project, quick="openai/gpt-x").model.preset is None
    assert agent_plan(project, default="best").model.name == "quick"
    project.workflow(agent())
    assert agent_plan(project).model.name == "default"
    assert agent_plan(project, default="best").model.name == "best"
    project.config(default_model="quick").workflow(agent(model=None))
    assert agent_plan(project).model.name == "quick"
    assert agent_plan(project, default="best").model.name == "best"
    assert agent_plan(project, quick="best").model.name == "best"


def test_an_agent_without_a_model_needs_a_default_of_the_project(tmp_path):
    with pytest.raises(ConfigError, match=r"'agent\.model' is missing"):
        agent_plan(Project(tmp_path, agent(model=None)))


def test_an_unknown_model_stays_a_name_until_it_is_called(tmp_path):
    plan = agent_plan(Project(tmp_path, agent(model="nobody")))
    assert (plan.model.name, plan.model.preset) == ("nobody", None)


def test_what_the_agent_does_not_say_its_preset_says(tmp_path):
    project = Project(tmp_path, agent()).model(timeout=7, max_tokens=99, temperature=0.5)
    plan = agent_plan(project)
    assert (plan.timeout_s, plan.max_output_tokens, plan.temperature) == (7, 99, 0.5)
    project.workflow(agent(timeout_s=3, max_output_tokens=5, temperature=0))
    plan = agent_plan(project)
    assert (plan.timeout_s, plan.max_output_tokens, plan.temperature) == (3, 5, 0)
    assert agent_plan(Project(tmp_path / "bare", agent())).timeout_s == 120


def test_every_bound_of_an_agent_reaches_its_plan(tmp_path):
    """E11 config.unenforced."""
    bounds = {
        "max_iterations": 3,
        "token_budget": 100,
        "cost_budget_usd": 0.5,
        "budget_check": "after_call",
        "max_wall_clock_s": 9,
        "max_tool_calls": 4,
        "max_calls_per_turn": 2,
        "max_consecutive_tool_failures": 5,
        "max_repeated_calls": 6,
        "answer_retries": 1,
    }
    plan = agent_plan(Project(tmp_path, agent(**bounds)))
    assert {name: getattr(plan.limits, name) for name in bounds} == bounds


def test_a_tool_takes_its_bounds_from_its_entry_else_from_its_step_or_agent(tmp_path):
    tool = {"id": "tool", "kind": "Functional", "runner": "set", "values": {"x": 1}, "timeout_s": 8}
    steps = agent(
        tools=[{"ref": "tool", "description": "d", "max_calls": 2, "on_timeout": "report", "writes_context": True}],
        tool_result_max_chars=100,
        tool_result_max_bytes=300,
    )
    steps = steps.splitlines()[0] + f"\n- {json.dumps(tool)}"
    (plan,) = agent_plan(Project(tmp_path, steps)).tools
    assert (plan.timeout_s, plan.max_result_chars, plan.max_result_bytes) == (8, 100, 300)
    assert (plan.max_calls, plan.on_timeout, plan.writes_context) == (2, "report", True)


def test_a_tool_schema_is_always_a_whole_object(tmp_path):
    """I01 schema.no_args."""
    tools = [{"ref": "tool", "description": "d", "parameters": {"additionalProperties": False}}]
    (plan,) = agent_plan(Project(tmp_path, agent(tools=tools))).tools
    assert plan.spec.parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    (plan,) = agent_plan(Project(tmp_path / "open", agent())).tools
    assert plan.spec.parameters == {"type": "object", "properties": {}}


def test_an_api_call_as_a_tool_wants_its_placeholders(tmp_path):
    steps = agent(tools=[{"ref": "tool", "description": "d"}]).splitlines()[0]
    call = {"id": "tool", "kind": "APICall", "http": {"url": "http://shop/{{ args.number }}"}}
    (plan,) = agent_plan(Project(tmp_path, f"{steps}\n- {json.dumps(call)}")).tools
    assert list(plan.spec.parameters["properties"]) == ["number"]
    assert plan.spec.parameters["required"] == ["number"]


def test_limits_come_field_by_field_and_the_policy_is_never_loosened(tmp_path):
    project = Project(tmp_path, SET, limits={"max_tokens": 900, "max_steps": 5})
    project.config(
        limits={"timeout_s": 60, "max_steps": 50, "max_cost_usd": 3},
        policy={"max_tokens_per_run": 500, "max_cost_usd_per_run": 2},
    )
    limits = project.plan().limits
    assert (limits.max_steps, limits.timeout_s, limits.max_tokens, limits.max_cost_usd) == (5, 60, 500, 2)
    project.workflow(SET, limits={"max_tokens": 100, "max_cost_usd": 1})
    limits = project.plan().limits
    assert (limits.max_tokens, limits.max_cost_usd) == (100, 1)


def test_an_api_call_takes_the_hosts_of_the_project(tmp_path):
    call = {"id": "a", "kind": "APICall", "http": {"url": "http://shop/x", "method": "POST", "json": {"n": "{{ n }}"}}}
    project = Project(tmp_path, f"- {json.dumps(call)}")
    project.config(http={"allow_hosts": ["shop"], "deny_private": False}, policy={"allow_hosts": ["shop"]})
    step = project.plan().steps["a"]
    assert isinstance(step.action, ApiCallPlan)
    assert (step.action.allow_hosts, step.action.deny_private, step.action.only_hosts) == (("shop",), False, ("shop",))
    assert step.action.body_kind == "json"
    assert step.action.body is not None
    assert step.action.body.render({"n": 3}) == {"n": 3}
    assert step.effects == "write"


def test_a_node_is_found_by_name_in_the_folder_that_the_project_names(tmp_path):
    project = Project(tmp_path, "- { id: a, kind: Functional, runner: lookup, effects: read }")
    project.config(folders={"nodes": "code"})
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "deep.py").write_text('from tuvl import node\n\n@node("lookup")\ndef f(ctx): ...\n')
    step = project.plan().steps["a"]
    assert isinstance(step.action, FunctionalPlan)
    assert step.action.file == str(tmp_path / "code" / "deep.py")
    assert step.effects == "read"


def test_a_plan_does_not_import_nodes(tmp_path):
    project = Project(tmp_path, "- { id: a, kind: Functional, runner: lookup }")
    project.node("from tuvl import node\nraise SystemExit\n\n@node('lookup')\ndef f(ctx): ...\n")
    assert project.plan().entry == "a"
