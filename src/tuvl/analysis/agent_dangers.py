"""What may go wrong between untrusted text and the effects of an agent, and where nothing stands in between."""

from collections.abc import Iterator

from tuvl.analysis.agent_effects import (
    Site,
    acting_tools,
    fails_open,
    gates,
    only_sends,
    outside_tools,
    takes_its_choice,
)
from tuvl.analysis.approvals import asks_at_times, is_approved, never_asks
from tuvl.analysis.danger_inside import danger_behind
from tuvl.analysis.egress import host_of
from tuvl.analysis.fault import Fault
from tuvl.analysis.flow_graph import Place
from tuvl.analysis.inside import is_overruled
from tuvl.analysis.parameters import ToolUse, tool_uses
from tuvl.analysis.steps import StepView, WorkflowView, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.taint import Taint, agents, injected

_INSTRUCTIONS = ("system", "steering", "skills")
_SITES: tuple[Site, ...] = ("input", "tools")
_SHOWN_TOOLS = 3
_MOST_WAYS = 50
"""Findings of one workflow for which a way is looked for; each look goes through all steps."""


def untrusted_to_effects(taint: Taint, project: Surroundings) -> Iterator[Fault]:
    """Agents that untrusted text reaches, and that can act on it unasked; each once."""
    workflow = taint.flow.graph.workflow
    told: set[str] = set()
    for place in agents(taint.flow.graph):
        step = place.step
        if step.mode != "autonomous" or step.id in told:
            continue
        tools = acting_tools(step, workflow, project)
        if not tools:
            continue
        source = None if gates(step, "input", project) else taint.from_outside(place.index, injected(step))
        reply = None if gates(step, "tools", project) else _replying(step, workflow, project, tools)
        if source is None and reply is None:
            continue
        told.add(step.id)
        sending = all(only_sends(tool, project) for tool in tools)
        yield _fault(taint, place, tools, source, reply, sending=sending, follow=len(told) <= _MOST_WAYS)


def _replying(step: StepView, workflow: WorkflowView, project: Surroundings, tools: list[ToolUse]) -> str | None:
    """The tool whose results are somebody else's text, beside the one that acts.

    Words that go back to the host that they came from tell it nothing.
    """
    told = {tool.ref: host_of(tool.step) if only_sends(tool, project) else None for tool in tools}
    for use in outside_tools(step, workflow, project):
        source = host_of(use.step)
        if any(host is None or host != source for ref, host in told.items() if ref != use.ref):
            return use.ref
    return None


def _fault(
    taint: Taint,
    place: Place,
    tools: list[ToolUse],
    source: str | None,
    reply: str | None,
    *,
    sending: bool,
    follow: bool,
) -> Fault:
    step = place.step
    acting = next((tool for tool in tools if tool.ref != reply), tools[0]) if source is None else tools[0]
    way = f"the results of {reply!r} → {step.id}"
    if source is not None:
        way = taint.trace(place.index, (source,)) if follow else f"{taint.said(source)} → … → {step.id}"
    also = f"; so do the results of {reply!r}" if source is not None and reply is not None else ""
    also += _asked(acting)
    others = [tool.ref for tool in tools if tool.ref != acting.ref]
    more = f" (and {_listed(others)})" if others else ""
    sites = [site for site, open_ in (("input", source), ("tools", reply)) if open_ is not None]
    where = " and ".join(f"`guardrails.{site}`" for site in sites)
    can = "send out what it has seen" if sending else "act"
    return Fault(
        (*acting.path, "ref"),
        f"untrusted text reaches agent {step.id!r}, which can {can} with {acting.ref!r}{more} unasked: "
        f"{way} → {acting.ref}{also}",
        f"add a guardrail at {where}, or `approval: required` on the tool{_bounding(tools, sending=sending)}",
    )


def _asked(acting: ToolUse) -> str:
    if never_asks(acting):
        return f"; the `approval` of {acting.ref!r} is never true"
    return f"; the `approval` of {acting.ref!r} asks about some calls only" if asks_at_times(acting) else ""


def _bounding(tools: list[ToolUse], *, sending: bool) -> str:
    """Say what also mends it where nothing is written, or nothing but amounts are open."""
    if sending:
        return ", or close what it takes by an `enum` or a `pattern` from `^` to `$`"
    if any(takes_its_choice(tool, amounts=False) for tool in tools):
        return ""
    return ", or give its numbers a `minimum` and a `maximum`"


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:_SHOWN_TOOLS]))
    return shown if len(names) <= _SHOWN_TOOLS else f"{shown} and {len(names) - _SHOWN_TOOLS} more"


def untrusted_instructions(taint: Taint, *, certain: bool) -> Iterator[Fault]:
    """Untrusted text that templates put among the instructions of an agent.

    Those that are `certain`, or else those of an input of which `spec.input` says nothing.
    """
    told: set[tuple[object, ...]] = set()
    for place in agents(taint.flow.graph):
        for read in place.reads:
            inside = read.place[len(place.step.path) :]
            if len(inside) < 2 or inside[0] != "agent" or inside[1] not in _INSTRUCTIONS or not read.shown:
                continue
            is_known = taint.reads_stranger(place.index, read.path)
            if (read.place, read.key) in told or not (is_known or taint.reads_unasked(place.index, read)):
                continue
            told.add((read.place, read.key))
            name = ".".join(read.path)
            if is_known != certain:
                continue
            way = taint.trace(place.index, read.path) if len(told) <= _MOST_WAYS else taint.said(read.key)
            where = f"`{inside[1]}`" if "://" not in read.field else f"`{inside[1]}` ({read.field})"
            yield Fault(
                read.place,
                f"untrusted text becomes an instruction: {where} of agent {place.step.id!r} shows {name!r}: {way}",
                _instead(read.key),
            )


def _instead(key: str) -> str:
    if key.startswith("_"):
        return (
            f"copy {key!r} to a key of its own with a `set` step, and name that in `context_injection`, which marks it "
            "as untrusted"
        )
    return f"name {key!r} in `context_injection`, which marks it as untrusted, and speak of it in words"


def ungated_results(step: StepView, workflow: WorkflowView, project: Surroundings) -> Iterator[Fault]:
    """Tools whose results a model reads without a guardrail in between."""
    names = [use.ref for use in outside_tools(step, workflow, project)]
    if step.mode != "autonomous" or not names or gates(step, "tools", project):
        return
    yield Fault(
        (*step.path, "agent", "tools"),
        f"agent {step.id!r} reads the results of {_listed(names)} without a guardrail",
        "add `guardrails: { tools: [artifact://<name>@<version>] }`, if what they return can hold a stranger's text",
        at_key=True,
    )


def fail_open_gates(step: StepView, workflow: WorkflowView, project: Surroundings) -> Iterator[Fault]:
    """Judges that are the only gate of an agent that can act, and let pass what they cannot judge."""
    if step.mode != "autonomous" or not step.agent.get("guardrails"):
        return
    for site in _SITES:
        guard = fails_open(gates(step, site, project))
        if guard is not None and acting_tools(step, workflow, project):
            yield Fault(
                (*step.path, "agent", "guardrails", site, guard.index),
                f"the only gate at `guardrails.{site}` of agent {step.id!r} is a judge that lets everything pass "
                f"when it cannot be asked",
                f"set `on_judge_error: violation` in {guard.reference!r}, or add a check that needs no model",
            )


def overruled_effects(workflow: WorkflowView, project: Surroundings) -> Iterator[Fault]:
    """Tools that declare to read and plainly write, each step once."""
    told: set[str] = set()
    for agent in workflow.steps:
        for use in tool_uses(agent, workflow):
            step = use.step
            if step.id in told or not is_overruled(step, workflow, project):
                continue
            told.add(step.id)
            yield Fault(
                (*step.path, "effects"),
                f"`effects: read` of tool {step.id!r} is not believed where approvals are judged: {_plainly(step)}",
                "declare what it does, or take the label away; a tool that is asked by POST and only reads may keep it",
            )


def _plainly(step: StepView) -> str:
    match step.kind:
        case "APICall":
            method = text(step.get("http", "method")) or "GET"
            return "a header gives it another method" if method == "GET" else f"its method is {method}"
        case "ModelOp":
            return f"its operation is {text(step.data.get('operation'))}"
        case "Functional":
            return f"its node {text(step.data.get('runner'))!r} declares that it writes"
        case _:
            return "what it runs writes"


def missing_approvals(step: StepView, workflow: WorkflowView, project: Surroundings) -> Iterator[Fault]:
    """Tools that are, or run, a write that is marked as dangerous, and that no person is asked about."""
    for use in tool_uses(step, workflow):
        if is_approved(use, project):
            continue
        danger = danger_behind(use.step, workflow, project)
        if danger is None:
            continue
        message = f"agent {step.id!r} may call {use.ref!r} unasked, a write that is marked `danger: true`"
        hint = 'give this entry `approval: required`, or a condition such as `approval: "{{ args.amount > 100 }}"`'
        if danger.workflow is not None:
            hint = f"{hint}; or ask in {danger.workflow!r}, where no way but that of an answer may lead there"
            message = (
                f"agent {step.id!r} may call {use.ref!r} unasked, which runs {danger.step.id!r} of workflow "
                f"{danger.workflow!r}, a write that is marked `danger: true`"
            )
        if never_asks(use):
            message = f"{message}: its `approval` is never true"
        yield Fault(
            (*use.path, "ref"),
            message,
            hint,
        )
