"""What the steps of a run do outside of it, by the steps that act, and whether a person is asked before."""

from collections.abc import Iterable, Mapping
from typing import Any

from tuvl.analysis.references import tool_entries
from tuvl.analysis.steps import StepView, text
from tuvl.changes.facts import Callees, Deed, WorkflowFacts

Deeds = Mapping[str, Deed]
"""Id of the step that acts → how."""


def deeds_of(facts: WorkflowFacts, step: StepView, within: frozenset[str] = frozenset()) -> Deeds:
    """What a step does when a run comes to it: itself, by its tools, its body, its hooks, or the workflow it runs."""
    if step.id in within:
        return {}
    inside = within | {step.id}
    fired = [facts.view.by_id[name] for name in facts.fired.get(step.id, ()) if name in facts.view.by_id]
    own = _own(facts, step, within, inside)
    return _joined([own, *(deeds_of(facts, each, inside) for each in fired)]) if fired else own


def _own(facts: WorkflowFacts, step: StepView, within: frozenset[str], inside: frozenset[str]) -> Deeds:
    match step.kind:
        case "Agent":
            return _joined(
                _after(_is_asked(facts, tool, entry), deeds_of(facts, tool, inside))
                for _, ref, entry in tool_entries(step)
                if (tool := facts.view.by_id.get(ref)) is not None
            )
        case "ForEach":
            body = facts.view.by_id.get(text(step.data.get("step")) or "")
            return deeds_of(facts, body, inside) if body is not None else {}
        case "Workflow":
            return _of_workflow(facts, step)
        case _:
            return {step.id: Deed(sure=_is_sure(facts, step))} if facts.acts(step) else {}


def _is_asked(facts: WorkflowFacts, tool: StepView, entry: Mapping[str, Any]) -> bool:
    return entry.get("approval") == "required" or facts.by_policy(tool)


def may_ask(facts: WorkflowFacts, step: StepView) -> bool:
    """Whether a step is an agent with a tool before which a person may be asked, or is."""
    return step.kind == "Agent" and any(
        str(entry.get("approval", "never")) != "never" or facts.by_policy(tool)
        for _, ref, entry in tool_entries(step)
        if (tool := facts.view.by_id.get(ref)) is not None
    )


def _after(asked: bool, deeds: Deeds) -> Deeds:
    return {name: Deed(asked=True, sure=deed.sure) for name, deed in deeds.items()} if asked else deeds


def _joined(several: Iterable[Deeds]) -> Deeds:
    found: dict[str, Deed] = {}
    for deeds in several:
        for name, deed in deeds.items():
            other = found.get(name)
            found[name] = (
                deed if other is None else Deed(asked=deed.asked and other.asked, sure=deed.sure or other.sure)
            )
    return found


def _of_workflow(facts: WorkflowFacts, step: StepView) -> Deeds:
    """The workflow that a step runs counts as one deed, if anything in it acts."""
    name = text(step.data.get("workflow")) or ""
    if facts.callees.facts(name) is None:
        return {step.id: Deed(sure=False)}
    if name not in facts.callees.deeds:
        _settle(facts.callees, name)
    deed = facts.callees.deeds[name]
    return {} if deed is None else {step.id: deed}


def _settle(callees: Callees, name: str) -> None:
    """Reckon what a workflow and those behind it do, until none does more: they may run each other."""
    found = {each: facts for each in callees.reached(name) if (facts := callees.facts(each)) is not None}
    waiting = [each for each in found if each not in callees.deeds]
    callees.deeds.update(dict.fromkeys(waiting))
    unsettled = True
    while unsettled:
        unsettled = False
        for each in reversed(waiting):
            deed = _inside(found[each])
            unsettled |= deed != callees.deeds[each]
            callees.deeds[each] = deed


def _inside(facts: WorkflowFacts) -> Deed | None:
    deeds = [deed for step in facts.graph.steps.values() for deed in deeds_of(facts, step).values()]
    if not deeds:
        return None
    asks = any(each.kind == "HumanInTheLoop" for each in facts.view.steps)
    return Deed(all(deed.asked for deed in deeds), any(deed.sure for deed in deeds) and not asks)


def _is_sure(facts: WorkflowFacts, step: StepView) -> bool:
    if step.kind != "Functional" or step.data.get("effects") is not None:
        return True
    node = facts.index.nodes.declared.get(text(step.data.get("runner")) or "")
    return node is not None and node.effects is not None
