"""An autonomous agent in a project of a test: written from its fields, run, and looked at from outside."""

import json
import sys
from pathlib import Path

from tests.agent.loop_support import Model
from tests.engine.run_support import Project

NODES = """
    from tuvl import node

    seen = []


    @node("look", effects="read")
    async def look(ctx):
        seen.append(("look", dict(ctx.args)))
        return {"found": ctx.args.get("q", "nothing")}


    @node("put")
    async def put(ctx):
        seen.append(("put", dict(ctx.args)))
        return {"stored": True}
"""

TOOLS = ({"ref": "look", "description": "Look."}, {"ref": "put", "description": "Put."})


def agent_project(
    root: Path,
    *replies: object,
    nodes: str = "",
    helpers: tuple[str, ...] = (),
    tools: object = TOOLS,
    spec: dict | None = None,
    **agent: object,
) -> Project:
    """Write a project with one agent; `helpers` are nodes that its fields name. The model answers with `replies`."""
    fields = {"model": "default", "steering": "Do it.", "tools": list(tools), **agent}
    ends = ("max_iterations", "budget_exceeded", "error", "aborted", "guardrail_violation")
    outcome = agent.get("outcome")
    enum = outcome.get("enum", ()) if isinstance(outcome, dict) else ()
    step = {"id": "agent", "kind": "Agent", "mode": "autonomous", "agent": fields}
    step["routes"] = dict.fromkeys((*ends, *enum), "END")
    steps = [f"- {json.dumps(step)}"]
    for name in dict.fromkeys([*(entry["ref"] for entry in fields["tools"]), *helpers]):
        steps.append(f"- {{ id: {name}, kind: Functional, runner: {name} }}")
    project = Project(root, "\n".join(steps), **(spec or {})).model("never used").node(NODES)
    project.chat_models["default"] = Model(list(replies))
    return project.node(nodes, file="extra.py") if nodes else project


def model_of(project: Project) -> Model:
    """The model that the agent calls; it keeps the requests."""
    model = project.chat_models["default"]
    assert isinstance(model, Model)
    return model


def sent(project: Project, request: int) -> list[str]:
    """Texts of the messages of a request, counted from 1."""
    return [message.content or "" for message in model_of(project).requests[request - 1].messages]


def offered(project: Project) -> list[list[str]]:
    """Names of the tools that each request offered."""
    return [[tool.name for tool in request.tools] for request in model_of(project).requests]


def module_of(project: Project, file: str = "stock.py"):
    """The module of a node file, once a node of it has run."""
    path = str(project.root / "nodes" / file)
    return next(module for module in list(sys.modules.values()) if getattr(module, "__file__", None) == path)


def told(result) -> list[str]:
    """What the model read of its tool calls, in order."""
    return [entry["content"] for entry in result.trace if entry["type"] == "tool_result"]


def errors_told(result) -> list[str]:
    """Types of the failures among them."""
    contents = [json.loads(text) for text in told(result)]
    return [content["error"]["type"] for content in contents if isinstance(content, dict) and "error" in content]
