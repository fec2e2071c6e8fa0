"""What can be said of one step beside where it leads: what it does outside, what bounds it, what guards it."""

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from tuvl.analysis.agent_fields import AgentFields, agent_fields
from tuvl.analysis.approvals import is_approved
from tuvl.analysis.context import written_keys
from tuvl.analysis.effects import Effects, effects_of
from tuvl.analysis.graph import RouteGraph
from tuvl.analysis.key_reads import key_reads, reads_everything
from tuvl.analysis.language_models import Lookup, positive, whole
from tuvl.analysis.parameters import ToolUse, tool_uses
from tuvl.analysis.references import tool_entries
from tuvl.analysis.signals import ABORTED, BUDGET_EXCEEDED, ENDS_CLEANLY, FAILURES
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.dataclass import dataclass
from tuvl.model_table import table_entry
from tuvl.spec.signals import DEFAULT, ERROR
from tuvl.values import number_text

WayKind: TypeAlias = Literal["route", "next", "ends as failed", "ends as aborted", "no route"]

_LOGIN = re.compile(r"//[^/?#@]*@")
"""A login in a URL; it and the query may hold secrets, and are not shown."""

_GUARD_SITES = ("input", "tools", "output")


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Signals of a step that lead to one place; without a route they end the run, or are a fault."""

    signals: tuple[str, ...]
    kind: WayKind
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """One tool of an agent, as the agent has it."""

    ref: str
    description: str = ""
    effects: Effects | None = None
    """`None` for a tool whose step is not there."""
    danger: bool = False
    approval: bool = False
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFacts:
    """One step, whatever state it is in."""

    id: str
    kind: str
    """The step kind, with the mode of an agent."""
    description: str
    effects: Effects
    danger: bool
    keyed: bool
    """Whether it has an idempotency key, and so can be repeated."""
    reached: bool
    """Whether some way leads to it, or something asks for it."""
    reads: tuple[str, ...]
    reads_all: bool
    writes: tuple[str, ...]
    writes_more: bool
    """Whether it may write keys that nothing declares."""
    ways: tuple[Way, ...]
    bounds: tuple[tuple[str, str], ...]
    """What bounds it: name of the field, value."""
    runs: str
    """What it runs or calls: a node, a tool of a server, another workflow."""
    tools: tuple[ToolFacts, ...]
    guards: tuple[tuple[str, tuple[str, ...]], ...]
    """Guardrails: site, references."""
    hooks: tuple[str, ...]

    @property
    def tags(self) -> tuple[str, ...]:
        """What a reviewer looks for first, in few words."""
        found = [self.effects, *(["danger"] if self.danger else [])]
        if any(tool.approval for tool in self.tools):
            found.append("approval")
        if self.guards:
            found.append("guards: " + ", ".join(site for site, _ in self.guards))
        if self.hooks:
            found.append(f"hooks: {len(self.hooks)}")
        if not self.reached:
            found.append("never reached")
        return tuple(found)


def step_facts(
    step: StepView, graph: RouteGraph, workflow: WorkflowView, project: Surroundings, lookup: Lookup = table_entry
) -> StepFacts:
    """Gather them."""
    written = written_keys(step, workflow, project)
    return StepFacts(
        id=step.id,
        kind=kind_of(step),
        description=text(step.data.get("description")) or "",
        effects=effects_of(step, project),
        danger=step.data.get("danger") is True,
        keyed=step.data.get("idempotency_key") is not None,
        reached=step.id in graph.reachable or step.id in graph.off_spine,
        reads=tuple(dict.fromkeys(read.key for read in key_reads(step, project))),
        reads_all=reads_everything(step, project),
        writes=tuple(sorted(written.known)),
        writes_more=written.open,
        ways=tuple(ways_of(step, graph)),
        bounds=tuple(_bounds(step, project, lookup)),
        runs=_runs(step),
        tools=tuple(_tools(step, workflow, project)),
        guards=tuple(_guards(step)),
        hooks=_texts(step.data.get("hooks")),
    )


def kind_of(step: StepView) -> str:
    """The kind of a step in words, with the mode of an agent."""
    if step.kind == "Agent" and step.mode:
        return f"Agent, {step.mode}"
    return step.kind or "no kind"


def ways_of(step: StepView, graph: RouteGraph) -> Iterator[Way]:
    """Where the signals of a step lead: its routes in order, the next step, the ends nobody routed."""
    by_target: dict[str, list[str]] = {}
    for signal, target in step.routes.items():
        by_target.setdefault(target, []).append(signal)
    for target, signals in by_target.items():
        yield Way(signals=tuple(signals), kind="route", target=target)
    if step.id not in graph.edges or graph.steps.get(step.id) is not step:
        return
    if graph.falls_through(step.id):
        yield Way(signals=(DEFAULT,), kind="next", target=graph.edges[step.id][DEFAULT])
    unmapped = sorted(graph.signals[step.id].known - step.routes.keys() - {DEFAULT})
    if ERROR in unmapped:
        yield Way(signals=(ERROR,), kind="ends as failed")
    if ABORTED in unmapped:
        yield Way(signals=(ABORTED,), kind="ends as aborted")
    faults = tuple(signal for signal in unmapped if signal not in ENDS_CLEANLY and not _of_run(signal, step))
    if faults:
        yield Way(signals=faults, kind="no route")


def _of_run(signal: str, step: StepView) -> bool:
    """Whether a budget of the run is behind a signal, rather than one of the step's own, so that no route is asked."""
    return signal == BUDGET_EXCEEDED and step.mode == "completion"


def only_fails(step: str, graph: RouteGraph) -> bool:
    """Whether the step returns nothing but failures, so that its unmapped error is an end an author meant."""
    return not graph.signals[step].open and graph.signals[step].known <= FAILURES


def _runs(step: StepView) -> str:
    match step.kind:
        case "Functional":
            return text(step.data.get("runner")) or ""
        case "Workflow":
            return text(step.data.get("workflow")) or ""
        case "ForEach":
            return text(step.data.get("step")) or ""
        case "MCP":
            server, tool = text(step.get("mcp", "server")) or "?", text(step.get("mcp", "tool")) or "?"
            return f"{tool} of {server}"
        case "APICall":
            url = _LOGIN.sub("//", text(step.get("http", "url")) or "").partition("?")[0]
            return f"{text(step.get('http', 'method')) or 'GET'} {url}".strip()
        case "ModelOp":
            return f"{text(step.data.get('operation')) or '?'} {text(step.data.get('model')) or '?'}"
        case "Agent":
            return text(step.agent.get("model")) or ""
        case _:
            return ""


def _guards(step: StepView) -> Iterator[tuple[str, tuple[str, ...]]]:
    given = mapping(step.agent.get("guardrails"))
    for site in _GUARD_SITES:
        found = _texts(given.get(site))
        if found:
            yield site, found


def _tools(step: StepView, workflow: WorkflowView, project: Surroundings) -> Iterator[ToolFacts]:
    uses = {use.path: use for use in tool_uses(step, workflow)}
    for index, ref, entry in tool_entries(step):
        use = uses.get((*step.path, "agent", "tools", index))
        if use is None:
            yield ToolFacts(ref=ref, description=text(entry.get("description")) or "")
        else:
            yield _tool(use, project)


def _tool(use: ToolUse, project: Surroundings) -> ToolFacts:
    return ToolFacts(
        ref=use.ref,
        description=use.description,
        effects=effects_of(use.step, project),
        danger=use.step.data.get("danger") is True,
        approval=is_approved(use, project),
        arguments=use.names,
    )


def _bounds(step: StepView, project: Surroundings, lookup: Lookup) -> Iterator[tuple[str, str]]:
    if step.kind == "Agent":
        yield from _agent_bounds(agent_fields(step, project, lookup))
    elif step.kind == "ForEach":
        yield "max_items", f"{whole(step.data.get('max_items')) or 100:,}"
        yield "concurrency", f"{whole(step.data.get('concurrency')) or 1:,}"
    http = positive(step.get("http", "timeout")) or positive(step.get("mcp", "timeout"))
    seconds = positive(step.data.get("timeout_s"))
    if http is not None:
        yield "timeout", f"{number_text(http)} s"
    if seconds is not None:
        yield "timeout_s", f"{number_text(seconds)} s"


def _agent_bounds(fields: AgentFields) -> Iterator[tuple[str, str]]:
    if fields.autonomous:
        yield "max_iterations", f"{fields.iterations:,}"
        if fields.max_tool_calls is not None:
            yield "max_tool_calls", f"{fields.max_tool_calls:,}"
        if fields.token_budget is not None:
            yield "token_budget", f"{fields.token_budget:,}"
        if fields.cost_budget_usd is not None:
            yield "cost_budget_usd", f"${fields.cost_budget_usd:,.2f}"
        if fields.max_wall_clock_s is not None:
            yield "max_wall_clock_s", f"{number_text(fields.max_wall_clock_s)} s"
    if fields.output is not None:
        yield "max_output_tokens", f"{fields.output:,}"
    yield "retry.attempts", f"{fields.attempts:,}"
    yield "agent.timeout_s", f"{number_text(fields.timeout_s)} s"


def _texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in items(value) if isinstance(each, str))
