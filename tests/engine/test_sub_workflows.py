"""A workflow as a step: a context of its own, and never more than what is left of the run around it."""

import asyncio

import pytest

from tests.agent.loop_support import Model, ask, say
from tests.engine.agent_support import agent_project, errors_told, module_of, told
from tests.engine.run_support import OnEvent, Project, Seen, ids
from tests.support.clock import LoopTime
from tuvl.control import RunControl
from tuvl.errors import ConfigError
from tuvl.llm.messages import Price
from tuvl.principal import Principal

CALL = '- { id: call, kind: Workflow, workflow: inner, input: { n: "{{ n }}" }, output_key: got }'
DOUBLE = '- { id: double, kind: Functional, runner: set, values: { twice: "{{ n * 2 }}" } }'


def project(tmp_path, inner: str, outer: str = CALL, *, limits: dict | None = None, **spec: object) -> Project:
    subject = Project(tmp_path).workflow(inner, name="inner", **spec)
    return subject.workflow(outer, **({"limits": limits} if limits else {}))


async def test_output_goes_to_its_key_and_nothing_else_gets_out(tmp_path):
    subject = project(tmp_path, DOUBLE, output="twice")
    result = await subject.run({"n": 21, "secret": "outer"})
    assert result.context == {"n": 21, "secret": "outer", "got": 42}
    assert (ids(result), result.signal) == (["call"], "default")


async def test_default_key_is_the_step_s(tmp_path):
    subject = project(tmp_path, DOUBLE, "- { id: call, kind: Workflow, workflow: inner, input: { n: 4 } }")
    assert (await subject.run({"n": 1})).context["call_result"] == {"n": 4, "twice": 8}


async def test_inner_workflow_sees_its_input_only(tmp_path):
    inner = '- { id: peek, kind: Functional, runner: set, values: { saw: "{{ secret }}" } }'
    result = await project(tmp_path, inner).run({"n": 1, "secret": "outer"})
    assert result.error is not None
    assert (result.status, result.error.type, result.error.step) == ("failed", "template", "call")
    assert result.error.detail["step"] == "peek"
    assert result.error.message.startswith("workflow 'inner' failed: ")
    assert "'secret'" in result.error.message


async def test_input_is_checked_by_the_inner_workflow(tmp_path):
    subject = project(tmp_path, DOUBLE, input={"type": "object", "properties": {"n": {"type": "integer"}}})
    result = await subject.run({"n": "many"})
    assert result.error is not None
    assert (result.error.type, result.error.step) == ("input", "call")


async def test_failure_inside_can_be_routed_outside(tmp_path):
    inner = "- { id: stop, kind: Functional, runner: fail, message: no stock }"
    outer = CALL.replace(" }", " }").rstrip("}").rstrip() + ", routes: { error: mend } }"
    outer += '\n- { id: mend, kind: Functional, runner: set, values: { why: "{{ _last_error }}" } }'
    result = await project(tmp_path, inner, outer).run({"n": 1})
    assert result.status == "completed"
    assert result.context["why"] == "workflow 'inner' failed: no stock"


async def test_events_inside_name_the_steps_around_them_and_there_is_one_terminal_event(tmp_path):
    seen = Seen()
    await project(tmp_path, DOUBLE).run({"n": 1}, sinks=[seen])
    assert [(event.body.type, event.step_id) for event in seen.events] == [
        ("run_started", None),
        ("step_started", "call"),
        ("step_started", "call/double"),
        ("step_finished", "call/double"),
        ("step_finished", "call"),
        ("run_finished", None),
    ]
    assert [event.seq for event in seen.events] == [1, 2, 3, 4, 5, 6]


LOOP = """
- { id: a, kind: Functional, runner: set, values: { x: 1 }, routes: { default: b } }
- { id: b, kind: Router, condition: { field: x, operator: eq, value: 2 }, routes: { "true": END, "false": a } }
"""


async def test_steps_inside_count_against_the_bound_outside(tmp_path):
    """What is left of the run around is never reset."""
    result = await project(tmp_path, LOOP, limits={"max_steps": 5}).run({"n": 1})
    assert result.error is not None
    assert (result.status, result.error.type, result.error.detail["bound"]) == ("failed", "max_steps", 5)


async def test_a_run_that_is_out_of_steps_ends_also_where_the_failure_inside_is_routed(tmp_path):
    outer = CALL.replace(" }", " }").rstrip("}") + ", routes: { error: END } }"
    subject = project(tmp_path, LOOP, outer, limits={"max_steps": 5})
    result = await subject.run({"n": 1})
    assert result.error is not None
    assert (result.status, result.error.type, result.error.step) == ("failed", "max_steps", "call")


async def test_bound_inside_holds_inside(tmp_path):
    inner = LOOP
    subject = project(tmp_path, inner, limits=None)
    subject.workflow(inner, name="inner", limits={"max_steps": 3})
    result = await subject.run({"n": 1})
    assert result.error is not None
    assert result.error.detail["detail"]["bound"] == 3


AGENT = """
- id: think
  kind: Agent
  mode: autonomous
  agent: { model: default, tools: [{ ref: look, description: d }] }
  routes: { default: END, max_iterations: END, budget_exceeded: END }
- { id: look, kind: Functional, runner: look }
"""
NODES = """
    import asyncio
    from tuvl import node

    calls = []


    @node("look", effects="read")
    def look(ctx):
        calls.append(1)
        return {"x": 1}


    @node("hang")
    async def hang(ctx):
        await asyncio.Event().wait()
"""


def with_agent(tmp_path, *replies: object, outer: str = CALL, price: Price | None = None, **limits: object) -> Project:
    subject = project(tmp_path, AGENT, outer, limits=limits or None).node(NODES).model("never")
    subject.chat_models["default"] = Model(list(replies), price=price)
    return subject


async def test_tokens_inside_are_bounded_by_what_is_left_outside(tmp_path):
    twice = CALL + "\n" + CALL.replace("id: call", "id: again")
    replies = [say("one", tokens=60), ask(("look", {}), tokens=60)]
    subject = with_agent(tmp_path, *replies, outer=twice, max_tokens=100)
    result = await subject.run({"n": 1})
    assert result.usage.total_tokens == 120
    assert result.trace is not None
    assert result.trace[-1]["error_type"] == "budget_exceeded"
    assert result.trace[-1]["step"] == "again/think"


async def test_a_bound_of_the_run_that_is_reached_inside_is_told_although_it_was_routed_there(tmp_path):
    """The step itself leaves normally; `error` tells the last abnormal signal of the run, wherever it was."""
    result = await with_agent(tmp_path, ask(("look", {}), tokens=120), max_tokens=100).run({"n": 1})
    assert (result.status, result.exit_code, ids(result), result.signal) == ("completed", 0, ["call"], "default")
    assert result.error is not None
    assert (result.error.type, result.error.step) == ("budget_exceeded", "call")
    assert result.error.message == ("workflow 'inner' completed; on the way, limits.max_tokens: 100 reached (120 used)")
    assert result.error.detail["step"] == "think"
    assert result.error.detail["detail"]["limit"] == "limits.max_tokens"


async def test_what_was_routed_two_workflows_deep_is_told_as_well(tmp_path):
    inner = "- { id: no, kind: Functional, runner: fail, message: it is no good, routes: { error: END } }"
    subject = project(tmp_path, inner)
    subject.workflow("- { id: go, kind: Workflow, workflow: inner }", name="middle")
    subject.workflow(
        "- { id: call, kind: Workflow, workflow: middle }\n- { id: after, kind: Functional, runner: log, message: x }"
    )
    result = await subject.run({"n": 1})
    assert result.error is not None
    assert (result.status, result.error.step, result.error.detail["step"]) == ("completed", "call", "go")
    assert result.error.message.endswith("on the way, it is no good")


async def test_cost_inside_is_bounded_outside_and_an_unpriced_model_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="step 'call' calls model 'default', whose price is not known"):
        await with_agent(tmp_path, max_cost_usd=1.0).run({"n": 1})


async def test_time_inside_is_the_run_s_time(tmp_path):
    inner = "- { id: hang, kind: Functional, runner: hang }"
    subject = project(tmp_path, inner, limits={"timeout_s": 0.2}).node(NODES)
    result = await asyncio.wait_for(subject.run({"n": 1}), 10)
    assert result.error is not None
    assert (result.status, result.error.type, result.error.step) == ("failed", "timeout", "call")


async def test_time_limit_of_the_inner_workflow_is_its_failure(tmp_path):
    inner = "- { id: hang, kind: Functional, runner: hang }"
    subject = project(tmp_path, inner).node(NODES)
    subject.workflow(inner, name="inner", limits={"timeout_s": 0.05})
    result = await asyncio.wait_for(subject.run({"n": 1}), 10)
    assert result.error is not None
    assert (result.error.type, result.error.detail["step"]) == ("timeout", "hang")


async def test_trace_of_an_agent_inside_survives_when_the_step_is_cut_off(tmp_path):
    reply = ask(("hang", {}))
    subject = with_agent(tmp_path, reply, outer=CALL.rstrip("}") + ", timeout_s: 60 }")
    path = tmp_path / "workflows" / "inner.yaml"
    path.write_text(path.read_text().replace("look", "hang"))
    time = LoopTime()
    result = await subject.run({"n": 1}, sinks=[OnEvent("tool_call_started", lambda: time.advance(60))])
    assert result.error is not None
    assert result.error.type == "timeout"
    assert result.trace is not None
    assert [entry["type"] for entry in result.trace][:2] == ["assistant", "tool_call"]
    assert {entry["step"] for entry in result.trace} == {"call/think"}


async def test_abort_inside_runs_the_cleanup_of_both_and_the_run_is_aborted(tmp_path):
    inner = """
- { id: hang, kind: Functional, runner: hang, routes: { aborted: tidy } }
- { id: tidy, kind: Functional, runner: look }
"""
    outer = CALL.rstrip("}") + ", routes: { aborted: clean } }\n"
    outer += "- { id: clean, kind: Functional, runner: set, values: { cleaned: true } }"
    subject = project(tmp_path, inner, outer).node(NODES)
    control = RunControl()
    loop = asyncio.get_running_loop()

    class AbortInside:
        def accept(self, event):
            if event.step_id == "call/hang" and event.body.type == "step_started":
                loop.call_soon_threadsafe(control.abort, "stop it")

    result = await asyncio.wait_for(subject.run({"n": 1}, control=control, sinks=[AbortInside()]), 20)
    assert (result.status, ids(result)) == ("aborted", ["call", "clean"])
    assert module_of(subject).calls == [1]


async def test_right_to_run_the_inner_workflow_is_asked_of_the_same_principal(tmp_path):
    subject = Project(tmp_path).workflow(DOUBLE, name="inner", meta={"required_scope": "finance"}).workflow(CALL)
    result = await subject.run({"n": 1}, principal=Principal(id="mia", scopes=frozenset({"support"})))
    assert result.error is not None
    assert result.error.type == "forbidden"
    assert "'mia' may not run workflow 'inner': it needs the scope 'finance'" in result.error.message
    good = await subject.run({"n": 1}, principal=Principal(id="mia", scopes=frozenset({"finance"})))
    assert good.status == "completed"


def as_tool(tmp_path, *replies: object, **agent: object):
    tools = [{"ref": "research", "description": "d"}]
    subject = agent_project(tmp_path, *replies, tools=tools, **agent)
    path = tmp_path / "workflows" / "flow.yaml"
    step = '- { id: research, kind: Workflow, workflow: inner, input: { n: "{{ args.n }}" }, output_key: got }'
    path.write_text(path.read_text().replace("- { id: research, kind: Functional, runner: research }", step))
    return subject


async def test_workflow_is_a_tool(tmp_path):
    subject = as_tool(tmp_path, ask(("research", {"n": 4})), say("done"))
    subject.workflow(DOUBLE, name="inner", output="twice")
    assert told(await subject.run(trace=True)) == ['{"got":8}']


async def test_workflow_as_a_tool_that_may_not_be_run_is_told_to_the_model(tmp_path):
    subject = as_tool(tmp_path, ask(("research", {"n": 4})), say("done"), tool_error_policy="fail")
    subject.workflow(DOUBLE, name="inner", meta={"required_group": "finance"})
    result = await subject.run(trace=True, principal=Principal(id="mia", scopes=frozenset()))
    assert (result.signal, errors_told(result)) == ("default", ["forbidden"])


async def test_tokens_spent_in_a_tool_count_against_the_agent_that_called_it(tmp_path):
    subject = as_tool(tmp_path, ask(("research", {"n": 1}), tokens=10), token_budget=50)
    subject.workflow(AGENT, name="inner").model("never")
    path = tmp_path / "workflows" / "inner.yaml"
    path.write_text(path.read_text().replace("model: default", "model: inner"))
    subject.model("never", name="inner")
    subject.chat_models["inner"] = Model([ask(("look", {}), tokens=45)])
    result = await subject.run(trace=True)
    assert result.error is not None
    assert (result.signal, result.error.detail["limit"]) == ("budget_exceeded", "token_budget")
    # The agent inside was stopped by the budget around it, before another call of its own.
    inner = [entry for entry in result.trace if entry["step"] == "research/think" and entry["type"] == "outcome"]
    assert [entry["error_type"] for entry in inner] == ["budget_exceeded"]
    assert result.usage.total_tokens == 55


async def test_what_keeps_the_inner_workflow_from_running_keeps_the_outer_one(tmp_path):
    subject = project(tmp_path, DOUBLE + "\n- { id: more, kind: Functional, runner: nowhere }")
    with pytest.raises(ConfigError, match=r"inner\.yaml: line 6: runner 'nowhere'"):
        await subject.run({"n": 1})


async def test_workflow_that_is_called_twice_is_compiled_once(tmp_path):
    outer = CALL + "\n" + CALL.replace("id: call", "id: again")
    plan = project(tmp_path, DOUBLE, outer).plan()
    assert plan.steps["call"].action.plan is plan.steps["again"].action.plan
    assert [each.workflow for each in plan.with_nested()] == ["flow", "inner"]
