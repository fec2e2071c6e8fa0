"""What a run tells of itself is right and safe: no credential, honest counts, the field that set a bound."""

import json

import pytest

from tests.engine.run_support import Project
from tests.support.http_server import serving
from tuvl.llm.messages import Message, ModelReply
from tuvl.values import JsonObject


async def test_a_service_that_echoes_a_credential_does_not_carry_it_into_the_context(tmp_path):
    async with serving() as server:
        server.queue({"sent": "Bearer tok-supersecret-987", "deep": [{"tok-supersecret-987": 1}]})
        step = {
            "id": "call",
            "kind": "APICall",
            "http": {"url": f"{server.origin}/echo", "auth": {"bearer": "${TOK}"}},
            "response": {"output_key": "reply"},
        }
        project = Project(tmp_path, f"- {json.dumps(step)}").config(http={"allow_hosts": ["127.0.0.1"]})
        project.environ["TOK"] = "tok-supersecret-987"
        engine = project.engine()
        result = await engine.run(project.plan(), {})
        await engine.aclose()
    assert result.context["reply"] == {"sent": "Bearer ***", "deep": [{"***": 1}]}


async def test_a_number_too_long_to_write_is_a_bad_result_like_any_other(tmp_path):
    project = Project(tmp_path, "- { id: a, kind: Functional, runner: huge }").node(
        """
        from tuvl import node

        @node("huge")
        def huge(ctx):
            return {"x": 10**5000}
        """
    )
    result = await project.run()
    assert (result.signal, result.error.type) == ("error", "bad_result")


async def test_iterations_are_model_calls_and_a_turn_that_a_bound_stopped_is_none(tmp_path):
    agent = {
        "id": "agent",
        "kind": "Agent",
        "mode": "autonomous",
        "agent": {"model": "default", "tools": [{"ref": "t", "description": "d"}], "token_budget": 150},
    }
    tool = {"id": "t", "kind": "Functional", "runner": "set", "values": {"x": 1}}
    project = Project(tmp_path, f"- {json.dumps(agent)}\n- {json.dumps(tool)}").model(
        {"tool_calls": [{"name": "t"}], "usage": {"input_tokens": 150, "output_tokens": 0}}
    )
    result = (await project.run()).to_json()
    assert (result["steps"][0]["iteration_count"], result["usage"]["llm_calls"]) == (1, 1)


async def test_a_budget_of_the_policy_is_named_as_such(tmp_path):
    agent = {
        "id": "agent",
        "kind": "Agent",
        "mode": "autonomous",
        "routes": {"budget_exceeded": "END"},
        "agent": {"model": "default", "tools": [{"ref": "t", "description": "d"}]},
    }
    tool = {"id": "t", "kind": "Functional", "runner": "set", "values": {"x": 1}}
    project = Project(tmp_path, f"- {json.dumps(agent)}\n- {json.dumps(tool)}", limits={"max_tokens": 1000})
    project.model({"tool_calls": [{"name": "t"}], "usage": {"input_tokens": 200, "output_tokens": 0}})
    project.config(policy={"max_tokens_per_run": 200})
    result = (await project.run()).to_json()
    assert result["error"]["detail"]["limit"] == "policy.max_tokens_per_run"


async def test_skills_of_a_completion_reach_its_model(tmp_path):
    agent = {"prompt": "Hello.", "model": "default", "skills": ["Answer in Dutch."], "system": "Be kind."}
    step = {"id": "ask", "kind": "Agent", "mode": "completion", "agent": agent}
    project = Project(tmp_path, f"- {json.dumps(step)}")
    seen = []

    class Model:
        name, price = "default", None

        async def complete(self, request):
            seen.append([message.content for message in request.messages])
            return ModelReply(message=Message(role="assistant", content="dag"))

        async def aclose(self):
            pass

    project.chat_models["default"] = Model()
    assert (await project.run()).context["ask_result"] == "dag"
    assert seen == [["Be kind.\n\n# Skills, to be applied when they are relevant\nAnswer in Dutch.", "Hello."]]


BOUNDED = """
- id: agent
  kind: Agent
  mode: autonomous
  agent: { model: default, steering: s, tools: [{ ref: look, description: d }] }
- { id: look, kind: Functional, runner: set, values: { found: 1 } }
"""
USED = {"input_tokens": 5, "output_tokens": 1}
LOOKS: JsonObject = {"tool_calls": [{"name": "look", "arguments": {}}]}


@pytest.mark.parametrize(
    ("limits", "usage", "warned"),
    [({"max_tokens": 100_000}, {}, 1), ({"max_tokens": 100_000}, {"usage": USED}, 0), ({}, {}, 0)],
    ids=["a bound on estimates", "a bound on what was reported", "no bound"],
)
async def test_usage_that_nobody_reported_is_one_warning_of_a_run_that_is_bounded_in_it(
    limits, usage, warned, tmp_path
) -> None:
    """Edge case 6: however many calls were estimated."""
    project = Project(tmp_path, BOUNDED, limits=limits).model({**LOOKS, **usage}, {"text": "done", **usage})
    result = await project.run()
    assert result.status == "completed", result.error
    assert result.usage.llm_calls == 2
    told = [warning for warning in result.warnings if "did not report its usage" in warning]
    assert len(told) == warned
    assert result.usage.estimated is not bool(usage)
