"""The spans of a run: which there are, what hangs on what, what they say, and what they never say."""

import json
import subprocess
import sys

from opentelemetry.trace import SpanKind, StatusCode

from tests.agent.loop_support import ask, say
from tests.engine.agent_support import agent_project
from tests.engine.run_support import Project
from tests.support.openai_server import HttpServer, call, message, serving
from tuvl.engine.result import RunResult
from tuvl.errors import ModelError


async def run_against(server: HttpServer, project: Project) -> RunResult:
    """Run a project whose model is behind a server; the server's own tasks go on, so they are not looked for."""
    spec = {"provider": "openai_compatible", "model": "served", "api_base": server.url}
    preset = {"kind": "AgentModel", "metadata": {"name": "default"}, "spec": spec}
    (project.root / "llms" / "default.yaml").write_text(json.dumps(preset), encoding="utf-8")
    project.chat_models.clear()
    engine = project.engine()
    try:
        return await engine.run(project.plan(), {})
    finally:
        await engine.aclose()


async def test_a_run_its_steps_turns_model_calls_and_tools_hang_on_each_other(recorded, tmp_path):
    project = agent_project(tmp_path, ask(("look", {"q": "a"}), ("put", {})), say("done"))
    await project.run()
    assert recorded.tree() == [
        "workflow.execute",
        "  node.Agent",
        "    agent.iteration",
        "      chat model",
        "      agent.tool_call",
        "        node.Functional",
        "      agent.tool_call",
        "        node.Functional",
        "    agent.iteration",
        "      chat model",
    ]


async def test_run_and_step_say_which_they_are_and_how_they_ended(recorded, tmp_path):
    result = await agent_project(tmp_path, say("done")).run()
    run, step = recorded.one("workflow.execute").attributes, recorded.one("node.Agent").attributes
    assert run["tuvl.run_id"] == step["tuvl.run_id"] == result.run_id
    assert (run["tuvl.workflow"], run["tuvl.run.status"], run["tuvl.run.signal"]) == ("flow", "completed", "default")
    assert (step["tuvl.step_id"], step["tuvl.step.kind"], step["tuvl.step.signal"]) == ("agent", "Agent", "default")
    assert (run["gen_ai.operation.name"], step["gen_ai.operation.name"]) == ("invoke_workflow", "invoke_agent")


async def test_a_turn_says_its_number_its_calls_and_the_tokens_used_by_then(recorded, tmp_path):
    project = agent_project(tmp_path, ask(("look", {}), tokens=30), say("done", tokens=12))
    await project.run()
    told = [dict(span.attributes) for span in recorded.named("agent.iteration")]
    assert told == [
        {
            "tuvl.agent.step_id": "agent",
            "tuvl.agent.iteration": number,
            "tuvl.agent.tool_calls": calls,
            "tuvl.agent.tokens_used": tokens,
        }
        for number, calls, tokens in ((1, 1, 30), (2, 0, 42))
    ]


async def test_a_tool_that_fails_is_an_error_of_its_span_and_not_of_the_turn(recorded, tmp_path):
    nodes = """
        from tuvl import node

        @node("broken")
        async def broken(ctx):
            raise RuntimeError("no stock")
    """
    tools = [{"ref": "broken", "description": "Breaks."}]
    await agent_project(tmp_path, ask(("broken", {})), say("done"), nodes=nodes, tools=tools).run()
    called = recorded.one("agent.tool_call")
    assert called.status.status_code is StatusCode.ERROR
    assert called.attributes["tuvl.agent.tool"] == "broken"
    assert called.attributes["tuvl.agent.tool_signal"] == "error"
    assert called.attributes["error.type"] == "node_error"
    assert {span.status.status_code for span in recorded.named("agent.iteration")} == {StatusCode.UNSET}
    assert recorded.one("workflow.execute").status.status_code is StatusCode.UNSET


async def test_a_model_call_follows_the_conventions_for_generative_ai(recorded, tmp_path):
    async with serving() as server:
        usage = {"prompt_tokens": 21, "completion_tokens": 4, "total_tokens": 25}
        usage["prompt_tokens_details"] = {"cached_tokens": 8}
        server.queue(message("done", usage=usage, model="served-2030-01-01"))
        project = agent_project(tmp_path, max_output_tokens=99, temperature=0.5)
        result = await run_against(server, project)
    assert result.status == "completed", result.error
    span = recorded.one("chat served")
    assert span.kind is SpanKind.CLIENT
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "served",
        "gen_ai.request.max_tokens": 99,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.response.model": "served-2030-01-01",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 21,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.cache_read.input_tokens": 8,
    }


async def test_a_call_that_is_made_again_is_one_span(recorded, tmp_path):
    busy = ModelError("busy", type="server_error", retryable=True)
    retry = {"attempts": 3, "on": ["error"], "backoff": 0.001}
    await agent_project(tmp_path, busy, busy, say("done"), retry=retry).run()
    span = recorded.one("chat model")
    assert span.attributes["tuvl.model.attempts"] == 3
    assert span.status.status_code is StatusCode.UNSET


async def test_a_call_that_fails_for_good_says_why(recorded, tmp_path):
    await agent_project(tmp_path, ModelError("no", type="authentication", retryable=False)).run()
    span = recorded.one("chat model")
    assert span.attributes["error.type"] == "authentication"
    assert span.attributes["gen_ai.response.finish_reasons"] == ("error",)
    assert recorded.one("node.Agent").attributes["error.type"] == "authentication"


async def test_usage_that_nobody_reported_is_left_out_rather_than_estimated(recorded, tmp_path):
    await agent_project(tmp_path, say("done", tokens=None)).run()
    assert not [name for name in recorded.one("chat model").attributes if name.startswith("gen_ai.usage")]


async def test_tools_that_run_at_once_hang_on_their_turn_each(recorded, tmp_path):
    three = ask(*(("look", {"q": letter}) for letter in "abc"))
    await agent_project(tmp_path, three, say("done"), tool_concurrency=3).run()
    turn = recorded.named("agent.iteration")[0].context.span_id
    calls = recorded.named("agent.tool_call")
    assert [span.parent.span_id for span in calls] == [turn] * 3
    assert {span.parent.span_id for span in recorded.named("node.Functional")} == {
        span.context.span_id for span in calls
    }


async def test_a_workflow_inside_a_step_hangs_on_that_step(recorded, tmp_path):
    project = Project(tmp_path, "- { id: inner, kind: Workflow, workflow: inside }")
    steps = "  steps:\n    - { id: one, kind: Functional, runner: set, values: { a: 1 } }\n"
    text = f"kind: Workflow\nmetadata: {{ name: inside }}\nspec:\n{steps}"
    (tmp_path / "workflows" / "inside.yaml").write_text(text, encoding="utf-8")
    await project.run()
    assert recorded.tree() == [
        "workflow.execute",
        "  node.Workflow",
        "    workflow.execute",
        "      node.Functional",
    ]


async def test_code_of_a_node_stands_inside_the_span_of_its_step(recorded, tmp_path):
    """A synchronous node runs in a thread, and spans of its own hang on the step all the same."""
    nodes = """
        from opentelemetry import trace

        from tuvl import node

        @node("where")
        def where(ctx):
            return {"span_id": trace.get_current_span().get_span_context().span_id}
    """
    project = Project(tmp_path, "- { id: where, kind: Functional, runner: where }").node(nodes)
    result = await project.run()
    assert result.context["span_id"] == recorded.one("node.Functional").context.span_id


async def test_nothing_of_what_is_said_or_done_is_in_a_span_or_a_counter(recorded, tmp_path):
    secret = "canary-7731"
    replies = [
        ask(("look", {"q": secret}), ("put", {secret: secret}), text=secret),
        ask((f"{secret}_tool", {})),
        say(secret),
    ]
    await agent_project(tmp_path, *replies, steering=f"Say {secret}.", context_injection=["note"]).run(
        {"note": secret}, sinks=recorded.telemetry.sinks()
    )
    assert len(recorded.named("agent.iteration")) == 3
    assert secret not in recorded.everything()


async def test_a_failing_step_shows_its_type_and_not_its_message(recorded, tmp_path):
    project = Project(tmp_path, '- { id: stop, kind: Functional, runner: fail, message: "card {{ card }}" }')
    result = await project.run({"card": "4111-1111"})
    assert result.error is not None
    assert "4111-1111" in result.error.message
    span = recorded.one("node.Functional")
    assert (span.attributes["error.type"], span.status.status_code) == ("failed", StatusCode.ERROR)
    assert recorded.one("workflow.execute").attributes["error.type"] == "failed"
    assert "4111-1111" not in recorded.everything()


async def test_a_streamed_call_says_so_and_ends_with_its_stream(recorded, tmp_path):
    async with serving() as server:
        server.queue(message(None, calls=[call("look")], finish="tool_calls"), message("done"))
        project = agent_project(tmp_path, stream=True)
        await run_against(server, project)
    spans = recorded.named("chat served")
    assert [span.attributes["gen_ai.request.stream"] for span in spans] == [True, True]
    assert [span.attributes["gen_ai.response.finish_reasons"] for span in spans] == [("tool_calls",), ("stop",)]


PROBE = """
import json, sys
from tuvl.__main__ import main
code = main(["run", "flow", "--output", "result.json"])
print(json.dumps([code, sorted({name.split(".")[0] for name in sys.modules})]))
"""


def test_a_run_that_records_nothing_imports_neither_opentelemetry_nor_structlog(tmp_path):
    Project(tmp_path, "- { id: one, kind: Functional, runner: log, message: hello }")
    done = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    code, modules = json.loads(done.stdout)
    assert (code, "tuvl: one: hello" in done.stderr) == (0, True)
    assert {"opentelemetry", "structlog", "google", "requests"} & set(modules) == set()
