"""Tools of agents: which there are, what a model reads of them, what they take, and who is asked before."""

from typing import Any

from tuvl.analysis.parameters import derived_parameters, tool_description
from tuvl.analysis.references import tool_entries
from tuvl.analysis.scope import Waits
from tuvl.analysis.steps import StepView, items
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.policy import Subschema
from tuvl.changes.renames import StepPairs
from tuvl.changes.subschema import compare_subschema
from tuvl.changes.walk import Walk, object_node
from tuvl.dataclass import dataclass
from tuvl.spec.shape import table
from tuvl.spec.table import ListNode, Node, ObjectNode
from tuvl.values import canonical

_PARAMETERS = Subschema("parameters-tightened", "parameters-loosened", "parameters-loosened", "parameters-described")
_RESULT_CHARS = 8000


@dataclass(frozen=True, slots=True)
class _Tool:
    index: int
    entry: dict[str, Any]
    step: StepView | None

    @property
    def description(self) -> str | None:
        """What a model reads."""
        if self.step is None:
            described = self.entry.get("description")
            return described if isinstance(described, str) else None
        return tool_description(self.entry, self.step)

    @property
    def declared(self) -> bool:
        """Whether the entry gives its parameters."""
        return isinstance(self.entry.get("parameters"), dict)

    @property
    def parameters(self) -> object:
        """The schema of its arguments."""
        if self.declared or self.step is None:
            return self.entry.get("parameters")
        return derived_parameters(self.step)

    @property
    def approval(self) -> str:
        """When a person is asked, as it is written."""
        return str(self.entry.get("approval", "never"))


def _tools(facts: WorkflowFacts, agent: StepView | None) -> dict[str, _Tool]:
    found: dict[str, _Tool] = {}
    for index, ref, entry in tool_entries(agent) if agent is not None else ():
        found.setdefault(ref, _Tool(index, entry, facts.view.by_id.get(ref)))
    return found


def compare_tools(
    findings: Findings,
    pairs: StepPairs,
    facts: tuple[WorkflowFacts, WorkflowFacts],
    before: StepView | None,
    after: StepView,
    spot: Spot,
) -> None:
    """Compare the tools of one agent; all of them are new where the agent is."""
    old, new = facts
    was, now = _tools(old, before), _tools(new, after)
    place = spot.at("agent", label="").at("tools")
    for ref, tool in was.items():
        if ref not in now:
            findings.say("tool-removed", f"tool {ref!r} is gone", place.at(tool.index, label=""), on_old=True)
    former = {name: earlier for earlier, name in pairs.renames.items()}
    for ref, tool in now.items():
        if ref not in was:
            findings.say("tool-added", f"tool {ref!r} is new{_what(new, tool)}", place.at(tool.index, label=""))
            continue
        below = place.at(was[ref].index, tool.index, label=f"tool {ref!r}")
        below = Spot(below.old_path, below.new_path, f"tool {ref!r}", spot.step)
        if ref in former:
            findings.say("tool-renamed", "tool has another name", below.at("ref"), former[ref], ref)
        _compare_tool(findings, (old, new), (was[ref], tool), (before or after, after), below)
    both = [ref for ref in was if ref in now]
    if both != [ref for ref in now if ref in was]:
        findings.say("order-changed", "tools in another order, which the model reads", place)
    if len(items(after.agent.get("tools"))) != len(now) or (
        before and len(items(before.agent.get("tools"))) != len(was)
    ):
        _rest(findings, before, after, place)


def _rest(findings: Findings, before: StepView | None, after: StepView, place: Spot) -> None:
    """Tell of entries that name no step, or one a second time, as of any other value."""
    one = _odd(before) if before is not None else []
    other = _odd(after)
    if canonical(one) != canonical(other):
        findings.say("field-changed", "tools: entries that name no step, or one twice", place, one, other)


def _odd(agent: StepView) -> list[Any]:
    seen: set[str] = set()
    named = {index: ref for index, ref, _ in tool_entries(agent)}
    odd = []
    for index, entry in enumerate(items(agent.agent.get("tools"))):
        ref = named.get(index)
        if ref is None or ref in seen:
            odd.append(entry)
        else:
            seen.add(ref)
    return odd


def _what(facts: WorkflowFacts, tool: _Tool) -> str:
    if tool.step is None:
        return ""
    parts = [str(tool.step.kind)]
    if facts.acts(tool.step):
        parts.append("writes")
    if tool.approval == "required" or facts.by_policy(tool.step):
        parts.append("a person is asked")
    else:
        parts.append("nobody is asked" if tool.approval == "never" else "an expression decides who is asked")
    return f" ({', '.join(parts)})"


def _compare_tool(
    findings: Findings,
    facts: tuple[WorkflowFacts, WorkflowFacts],
    tools: tuple[_Tool, _Tool],
    agents: tuple[StepView, StepView],
    spot: Spot,
) -> None:
    before, after = tools
    if before.description != after.description:
        place = spot.at("description")
        findings.say("tool-described", f"{spot.label}: description", place, before.description, after.description)
    _approval(findings, facts, before, after, spot)
    if before.declared or after.declared:
        compare_subschema(findings, _PARAMETERS, before.parameters, after.parameters, spot.at("parameters"))
    elif canonical(before.parameters) != canonical(after.parameters):  # type: ignore[arg-type]
        names = (_names(before.parameters), _names(after.parameters))
        if names[0] != names[1]:
            looser = bool(set(names[1]) - set(names[0]))
            code = "parameters-loosened" if looser else "parameters-tightened"
            findings.say(code, f"{spot.label}: other arguments", spot, list(names[0]), list(names[1]))
    inherited = {
        ("ToolEntry", "timeout_s"): (_timeout(before), _timeout(after)),
        ("ToolEntry", "max_result_chars"): (_chars(agents[0]), _chars(agents[1])),
    }
    node = entry_node()
    if node is not None:
        Walk("Workflow", findings, inherited).block(node, before.entry, after.entry, spot)


def _names(parameters: object) -> tuple[str, ...]:
    found = parameters.get("properties") if isinstance(parameters, dict) else None
    return tuple(sorted(found)) if isinstance(found, dict) else ()


def _approval(
    findings: Findings,
    facts: tuple[WorkflowFacts, WorkflowFacts],
    before: _Tool,
    after: _Tool,
    spot: Spot,
) -> None:
    was, now = before.approval, after.approval
    if was == now:
        return
    below = spot.at("approval")
    by_policy = after.step is not None and facts[1].by_policy(after.step)
    if by_policy and now == "never":
        findings.say("field-changed", f"{below.label}: the policy has a person asked", below, was, now)
    elif now == "never":
        findings.say("approval-removed", f"{spot.label}: nobody is asked any more", below, was, now)
    elif was == "never" or now == "required":
        findings.say("approval-tightened", below.label, below, was, now)
    else:
        findings.say("approval-weakened", below.label, below, was, now, may=was != "required")


def _timeout(tool: _Tool) -> object:
    own = tool.step.data.get("timeout_s") if tool.step is not None else None
    return own if own is not None else Waits().tool_s


def _chars(agent: StepView) -> object:
    return agent.agent.get("tool_result_max_chars", _RESULT_CHARS)


def entry_node() -> ObjectNode | None:
    """The definition of an entry of `tools`."""
    agent: Node | None = _autonomous_agent()
    tools = agent.fields.get("tools") if isinstance(agent, ObjectNode) else None
    item = tools.item if isinstance(tools, ListNode) else None
    return item if isinstance(item, ObjectNode) else None


def _autonomous_agent() -> Node | None:
    spec = object_node(table("Workflow").root.fields["spec"], {})
    steps = spec.fields["steps"] if spec is not None else None
    step = object_node(steps.item, {"kind": "Agent", "mode": "autonomous"}) if isinstance(steps, ListNode) else None
    return step.fields.get("agent") if step is not None else None


def compare_descriptions(
    findings: Findings, facts: tuple[WorkflowFacts, WorkflowFacts], before: StepView, after: StepView, spot: Spot
) -> None:
    """Compare the description of a step, unless a model reads it as that of a tool, which is told there."""
    was, now = before.data.get("description"), after.data.get("description")
    if was != now and not _is_read(facts[0], before) and not _is_read(facts[1], after):
        findings.say("described", "description", spot.at("description"), was, now, on_old=now is None)


def _is_read(facts: WorkflowFacts, step: StepView) -> bool:
    for agent in facts.view.steps:
        for _, ref, entry in tool_entries(agent):
            described = entry.get("description")
            if ref == step.id and not (isinstance(described, str) and described.strip()):
                return True
    return False
