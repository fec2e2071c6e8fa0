"""Which tools of a workflow, and which workflows, a principal may be offered, and under which names."""

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.mcp.offer import OfferedTool
from tuvl.plan.model import AgentPlan, ExecutionPlan
from tuvl.principal import Principal
from tuvl.tools.tool import ToolPlan
from tuvl.values import JsonObject, JsonValue

LONGEST_NAME = 64
"""What clients, and the models behind them, take as a tool's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEntry:
    """A tool of an agent."""

    offered: OfferedTool
    plan: ExecutionPlan
    agent: AgentPlan
    tool: ToolPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowEntry:
    """A whole workflow."""

    offered: OfferedTool
    plan: ExecutionPlan


Entry: TypeAlias = ToolEntry | WorkflowEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """What is not offered, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A workflow that is to be offered, and what its file says it is for."""

    plan: ExecutionPlan
    description: str


def entries_of(workflows: Sequence[Offered], principal: Principal) -> Iterator[Entry | Withheld]:
    """The tools of the first workflow, then each workflow as a whole; raises `UsageError` when names collide."""
    taken: list[str] = []
    first = workflows[0].plan
    for tool in () if first.refusals else tool_entries(first, principal):
        if isinstance(tool, ToolEntry):
            taken.append(tool.offered.name)
        yield tool
    for workflow in workflows:
        whole = workflow_entry(workflow.plan, principal, description=workflow.description, taken=taken)
        if isinstance(whole, WorkflowEntry):
            taken.append(whole.offered.name)
        yield whole


def tool_entries(plan: ExecutionPlan, principal: Principal) -> Iterator[ToolEntry | Withheld]:
    """The tools of a workflow's agents, each once, in file order: of a step offered twice, the first entry counts."""
    seen: set[str] = set()
    for step in plan.steps.values():
        if not isinstance(step.action, AgentPlan):
            continue
        for tool in step.action.tools:
            if tool.ref in seen:
                continue
            seen.add(tool.ref)
            missing = _missing(plan, principal) or principal.lacks(scope=tool.required_scope, group=tool.required_group)
            if missing is not None:
                yield Withheld(name=tool.ref, reason=f"principal {principal.id!r} lacks {missing}")
                continue
            offered = OfferedTool(
                name=tool.ref,
                description=tool.spec.description,
                schema=object_schema(tool.spec.parameters),
                read_only=tool.effects == "read",
            )
            yield ToolEntry(offered=offered, plan=plan, agent=step.action, tool=tool)


def workflow_entry(
    plan: ExecutionPlan, principal: Principal, *, description: str, taken: Sequence[str]
) -> WorkflowEntry | Withheld:
    """A workflow as one tool; raises `UsageError` when no name is left for it."""
    if plan.refusals:
        return Withheld(name=plan.workflow, reason=plan.refusals[0])
    missing = _missing(plan, principal)
    if missing is not None:
        return Withheld(name=plan.workflow, reason=f"principal {principal.id!r} lacks {missing}")
    schema = {} if plan.input_schema is None else plan.input_schema.schema
    offered = OfferedTool(
        name=tool_name(plan.workflow, taken),
        description=description or f"Run the workflow {plan.workflow!r}.",
        schema=object_schema(schema),
        read_only=False,
    )
    return WorkflowEntry(offered=offered, plan=plan)


def tool_name(workflow: str, taken: Sequence[str]) -> str:
    """Return a workflow's name as clients take it; `run_…` when a tool has it already."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", workflow)
    for name in (plain[:LONGEST_NAME], f"run_{plain}"[:LONGEST_NAME]):
        if name not in taken:
            return name
    raise UsageError(f"workflow {workflow!r} cannot be offered as {plain[:LONGEST_NAME]!r}: another tool has that name")


def object_schema(schema: "JsonObject | dict[str, JsonValue]") -> JsonObject:
    """Return a schema whose root is an object with properties, which clients insist on."""
    return {"properties": {}, **schema, "type": "object"}


def _missing(plan: ExecutionPlan, principal: Principal) -> str | None:
    return principal.lacks(scope=plan.required_scope, group=plan.required_group)
