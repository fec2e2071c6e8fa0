"""Projects for tests of worst cases: an agent written from its fields, run by an adversary, and its figures."""

import json
from pathlib import Path

from tests.engine.run_support import Project
from tests.support.adversary import PRICE, TOOL, Adversary, Bill
from tuvl.analysis.envelope import Envelope, envelope
from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.project.index import ProjectIndex

NODES = """
    from tuvl import node


    @node("big", effects="read")
    async def big(ctx):
        return {"found": "\U0001f600" * 30_000}


    @node("failing", effects="read")
    async def failing(ctx):
        raise RuntimeError('"' * 2000)
"""

ENDS = ("max_iterations", "budget_exceeded", "error", "aborted", "guardrail_violation")


def priced(**spec: object) -> dict[str, object]:
    """The `spec` of a preset whose price is the adversary's."""
    return {"price": {"input_per_mtok": PRICE.input_per_mtok, "output_per_mtok": PRICE.output_per_mtok}, **spec}


def agent_step(id: str = "agent", runner: str = TOOL, **agent: object) -> str:
    """An agent with one tool, both as YAML."""
    fields = {
        "model": "default",
        "steering": "Do it.",
        "tools": [{"ref": TOOL, "description": "Look."}],
        "retry": {"attempts": 1, "backoff": 0},
        **agent,
    }
    step = {"id": id, "kind": "Agent", "mode": "autonomous", "agent": fields}
    step["routes"] = dict.fromkeys((*ENDS, "done"), "END") if "outcome" in fields else dict.fromkeys(ENDS, "END")
    return f"- {json.dumps(step)}\n- {{ id: {TOOL}, kind: Functional, runner: {runner} }}"


def project_of(root: Path, steps: str, **spec: object) -> Project:
    """A project of one workflow, whose models cost what the adversary's do."""
    return Project(root, steps, **spec).model("never used", **priced()).node(NODES)


def figures(project: Project, name: str = "flow") -> Envelope:
    """The worst case of a workflow of the project."""
    index = ProjectIndex(project.root)
    document = index.workflow(name)
    assert document is not None
    return envelope(WorkflowView(mapping(document.data)), index)


def broken_bounds(bill: Bill, tool_calls: int, found: Envelope) -> list[str]:
    """What was used beyond what is proved."""
    spend = found.proved.spend
    used = {
        "model_calls": bill.calls,
        "tool_calls": tool_calls,
        "input_tokens": bill.input_tokens,
        "output_tokens": bill.output_tokens,
        "total_tokens": bill.total_tokens,
        "cost_usd": bill.cost_usd - 1e-9,
    }
    return [
        f"{name}: {value} used, {getattr(spend, name).value} proved"
        for name, value in used.items()
        if getattr(spend, name).value is not None and value > getattr(spend, name).value
    ]


async def attack(project: Project, *moves: str, text: str = "", **model: object) -> tuple[Bill, int]:
    """Run the workflow with an adversary as its model; returns the bill, and how many tools were called."""
    bill = Bill()
    project.chat_models["default"] = Adversary(bill, moves, **model)
    result = await project.run({"text": text} if text else {})
    return bill, result.usage.tool_calls
