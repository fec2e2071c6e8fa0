"""A run never does more than its principal may: on the spine, in the loop, in lists and in workflows inside."""

import asyncio
import json
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agent.loop_support import Model, ask, say
from tests.engine.agent_support import agent_project, errors_told, module_of
from tests.engine.run_support import Project
from tuvl.errors import UsageError
from tuvl.principal import Principal

NODES = """
    from tuvl import node

    ran = []


    @node("mark")
    async def mark(ctx):
        ran.append(ctx.params["id"])
        return {}
"""

SCOPES, GROUPS = ("read", "pay"), ("desk", "audit")


@dataclass(frozen=True)
class Right:
    """What a step or workflow asks for."""

    scope: str | None
    group: str | None

    @property
    def auth(self) -> dict:
        return {"auth": {"required_scope": self.scope, "required_group": self.group}}

    def held_by(self, principal: Principal) -> bool:
        everything = "*" in principal.scopes
        return everything or (self.scope in (None, *principal.scopes) and self.group in (None, *principal.groups))


rights = st.builds(Right, st.sampled_from((None, *SCOPES)), st.sampled_from((None, *GROUPS)))
principals = st.builds(
    Principal,
    id=st.just("mia"),
    scopes=st.frozensets(st.sampled_from((*SCOPES, "*"))),
    groups=st.frozensets(st.sampled_from(GROUPS)),
)


def mark(name: str, right: Right, **more: object) -> dict:
    return {"id": name, "kind": "Functional", "runner": "mark", "params": {"id": name}, **right.auth, **more}


PLACES = ("spine", "tool", "body", "call", "inner", "inner_step", "helper", "nested_tool")


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    return Project(tmp_path_factory.mktemp("rights")).node(NODES).model("never")


def write(project: Project, asked: dict[str, Right]) -> None:
    agent = {
        "model": "default",
        "tools": [{"ref": "tool", "description": "d"}, {"ref": "nested_tool", "description": "d"}],
        "continue_on_stop": "helper",
    }
    steps = [
        {
            "id": "agent",
            "kind": "Agent",
            "mode": "autonomous",
            "agent": agent,
            "routes": {"default": "each", "error": "each", "max_iterations": "each"},
        },
        {
            "id": "each",
            "kind": "ForEach",
            "items": [1, 2],
            "step": "body",
            "routes": {"default": "call", "error": "call"},
        },
        {
            "id": "call",
            "kind": "Workflow",
            "workflow": "inner",
            **asked["call"].auth,
            "routes": {"default": "spine", "error": "spine"},
        },
        mark("spine", asked["spine"]),
        mark("tool", asked["tool"]),
        mark("body", asked["body"]),
        mark("helper", asked["helper"]),
        {"id": "nested_tool", "kind": "Workflow", "workflow": "inner", **asked["nested_tool"].auth},
    ]
    project.workflow("\n".join(f"- {json.dumps(step)}" for step in steps))
    meta = {"required_scope": asked["inner"].scope, "required_group": asked["inner"].group}
    project.workflow(f"- {json.dumps(mark('inner_step', asked['inner_step']))}", name="inner", meta=meta)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(asked=st.fixed_dictionaries(dict.fromkeys(PLACES, rights)), principal=principals)
def test_no_run_executes_a_step_that_its_principal_may_not(project, asked, principal):
    write(project, asked)
    project.chat_models["default"] = Model([ask(("tool", {}, "a"), ("nested_tool", {}, "b")), say("x"), say("x")])
    _forget(project)
    asyncio.run(project.run(principal=principal))
    ran = set(_ran(project))
    may = {place for place, right in asked.items() if right.held_by(principal)}
    assert ran <= may
    inner = {"inner", "inner_step"} <= may and bool({"call", "nested_tool"} & may)
    assert ran == ({"spine", "tool", "body", "helper"} & may) | ({"inner_step"} if inner else set())


def _ran(project: Project) -> list[str]:
    try:
        return module_of(project).ran
    except StopIteration:
        return []


def _forget(project: Project) -> None:
    _ran(project).clear()


STEP = "- { id: pay, kind: Functional, runner: mark, params: { id: pay }, auth: { required_scope: pay } }"


async def test_step_on_the_spine_that_may_not_run_is_an_error_that_can_be_routed(tmp_path):
    steps = STEP.replace(" }", " }", 1).rstrip("}").rstrip() + ", routes: { error: ask } }\n"
    steps += '- { id: ask, kind: Functional, runner: set, values: { why: "{{ _last_error_type }}" } }'
    subject = Project(tmp_path, steps).node(NODES)
    result = await subject.run(principal=Principal(id="mia", scopes=frozenset({"read"})))
    assert (result.status, result.context) == ("completed", {"why": "forbidden"})
    assert result.error is not None
    assert result.error.message == "principal 'mia' may not run step 'pay': it needs the scope 'pay'"


async def test_tool_that_may_not_be_used_is_told_to_the_model_and_nobody_is_asked_to_approve_it(tmp_path):
    class Nobody:
        async def ask(self, request):
            raise AssertionError("nobody may be asked")

    tools = [{"ref": "put", "description": "d", "approval": "required"}]
    subject = agent_project(tmp_path, ask(("put", {})), say("done"), tools=tools, tool_error_policy="fail")
    path = tmp_path / "workflows" / "flow.yaml"
    path.write_text(path.read_text().replace("runner: put }", "runner: put, auth: { required_group: desk } }"))
    subject.approvals = Nobody()
    result = await subject.run(trace=True, principal=Principal(id="mia", scopes=frozenset()))
    assert (result.signal, errors_told(result)) == ("default", ["forbidden"])


async def test_local_operator_may_do_everything(tmp_path):
    assert (await Project(tmp_path, STEP).node(NODES).run()).status == "completed"


async def test_workflow_that_may_not_be_run_does_not_begin(tmp_path):
    subject = Project(tmp_path).workflow(STEP, meta={"required_group": "desk"}).node(NODES)
    with pytest.raises(UsageError, match="may not run workflow 'flow': it needs the group 'desk'"):
        await subject.run(principal=Principal(id="mia", scopes=frozenset({"pay"})))
