"""What bounds a run and its agents, as numbers that a gauge can show."""

from collections.abc import Mapping
from dataclasses import field

from tuvl.analysis.agent_fields import agent_fields
from tuvl.analysis.run_bounds import run_bounds
from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.analysis.surroundings import Surroundings
from tuvl.dataclass import dataclass
from tuvl.model_table import table_entry
from tuvl.source.document import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentBounds:
    """Bounds of one execution of an agent; `None` is off."""

    turns: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds of a run; `None` is off."""

    steps: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    agents: Mapping[str, AgentBounds] = field(default_factory=dict)
    """Bounds of the agents, by the id of their step."""


NO_BOUNDS = Bounds()


def bounds_of(document: Document, project: Surroundings) -> Bounds:
    """Read them from a workflow and the project around it."""
    workflow = WorkflowView(mapping(document.data))
    run = run_bounds(workflow, project)
    agents = {}
    for step in workflow.by_id.values():
        if step.kind != "Agent":
            continue
        fields = agent_fields(step, project, table_entry)
        agents[step.id] = AgentBounds(
            turns=fields.iterations if fields.autonomous else None,
            tool_calls=fields.max_tool_calls,
            tokens=fields.token_budget,
            cost_usd=fields.cost_budget_usd,
            seconds=fields.max_wall_clock_s,
        )
    return Bounds(
        steps=run.max_steps,
        seconds=run.timeout_s,
        tokens=run.max_tokens,
        cost_usd=run.max_cost_usd,
        agents=agents,
    )
