"""How workflows end that others run, where a write of their callers depends on it: such an end is as good as the write.

A caller goes on by `default` where a workflow inside has come to its end, and by `error` where that has failed. Where a
write can follow one of the two and not the other, whatever decides on the end decides on the write, and the workflow is
looked at as if it stood in its caller, before the write.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from tuvl.analysis.graph import RouteGraph, route_graph
from tuvl.analysis.signals import ABORTED
from tuvl.analysis.steps import END, WorkflowView, items, mapping, text
from tuvl.changes.facts import Callees, WorkflowFacts
from tuvl.changes.reach import NOBODY, Reach, bits_of
from tuvl.project.index import ProjectIndex
from tuvl.spec.signals import DEFAULT, ERROR

How: TypeAlias = Literal["end", "failure"]
Ends: TypeAlias = Mapping[How, str]
"""How a workflow ends → what can follow by that alone: the id of a step that stands for it."""

SIGNALS: Mapping[How, str] = {"end": DEFAULT, "failure": ERROR}
_OTHER: Mapping[How, How] = {"end": "failure", "failure": "end"}


def end_of(workflow: str, how: How) -> str:
    """Id of a step that stands for an end; no step of a file can have such an id."""
    return f"{how} of {workflow}"


def is_end(step: str) -> bool:
    """Whether a step stands for an end."""
    return step.startswith(("end of ", "failure of "))


def with_ends(data: Mapping[str, Any], index: ProjectIndex, ends: Ends) -> Mapping[str, Any]:
    """A workflow in which steps that act stand for its ends. An abort ends the whole run, and is no such end."""
    if not ends:
        return data
    graph = route_graph(WorkflowView(data), index)
    # What falls through at the last step comes to the first of these.
    lasts = [_last(how, ends.get(how)) for how in SIGNALS]
    targets = {how: str(last["id"]) for how, last in zip(SIGNALS, lasts, strict=True)}
    steps = [_routed(entry, graph, targets) for entry in items(mapping(data.get("spec")).get("steps"))]
    return {**data, "spec": {**mapping(data.get("spec")), "steps": [*steps, *lasts]}}


def _last(how: How, name: str | None) -> Mapping[str, Any]:
    if name is None:
        return {"id": f"{how} of it", "kind": "Functional", "runner": "log", "message": how, "routes": {DEFAULT: END}}
    http = {"url": "https://follows.invalid", "method": "POST"}
    return {"id": name, "kind": "APICall", "http": http, "routes": {DEFAULT: END, ERROR: END}}


def _routed(entry: object, graph: RouteGraph, targets: Mapping[How, str]) -> object:
    name = text(mapping(entry).get("id"))
    if name is None or name not in graph.signals:
        return entry
    step = graph.steps[name]
    routes = {
        signal: targets["end"] if target == END and signal != ABORTED else target
        for signal, target in step.routes.items()
    }
    if graph.signals[step.id].may_be(ERROR):
        routes.setdefault(ERROR, targets["failure"])
    return {**mapping(entry), "routes": routes}


# ---- what follows --------------------------------------------------------------------------------------------------


def following(facts: WorkflowFacts) -> Mapping[str, Ends]:
    """Steps that routes, or lists, have run a workflow, and what can follow one end of that and not the other."""
    found: dict[str, dict[How, str]] = {}
    if not facts.runs:
        return found
    reach = reach_of(facts)
    for name in facts.graph.spine:
        step = facts.graph.steps[name]
        body = facts.view.by_id.get(text(step.data.get("step")) or "") if step.kind == "ForEach" else step
        if body is not None and body.kind == "Workflow":
            for how, deed in deciding(reach, name).items():
                found.setdefault(body.id, {}).setdefault(how, deed)
    return found


def reach_of(facts: WorkflowFacts) -> Reach:
    """What a workflow can still do from each of its steps, with all that it does."""
    reach = Reach(facts)
    reach.bits = bits_of(sorted({name for each in reach.deeds.values() for name in each}))
    return reach


def deciding(reach: Reach, name: str) -> Mapping[How, str]:
    """By which end of a step something can follow that does not by the other, with or without persons and decisions."""
    taken = reach.facts.graph.taken(name)
    found: dict[How, str] = {}
    for without, asked in ((NOBODY, True), (reach.persons, False), (reach.deciders, True)):
        past = without | {name}
        ahead = {how: reach.ahead(taken.get(signal), past, asked=asked) for how, signal in SIGNALS.items()}
        for how, other in _OTHER.items():
            more = ahead[how] & ~ahead[other]
            first = next((deed for deed, bit in reach.bits.items() if bit & more), None)
            if first is not None:
                found.setdefault(how, first)
    return found


def ends_of(callees: Callees) -> Mapping[str, Ends]:
    """The ends that count of all workflows of one state, over any number of calls."""
    found: dict[str, dict[How, str]] = {}
    waiting = list(callees.index.named("Workflow"))
    while waiting:
        name = waiting.pop()
        facts = callees.facts(name)
        if facts is None or not facts.runs:
            continue
        view = WorkflowView(with_ends(facts.view.data, facts.index, found.get(name, {})))
        for step, ends in following(WorkflowFacts(view, facts.index, callees)).items():
            called = text(view.by_id[step].data.get("workflow")) or ""
            known = found.setdefault(called, {})
            new = {how: deed for how, deed in ends.items() if how not in known}
            for how, deed in new.items():
                last = deed.rpartition(", then ")[2] if is_end(deed) else f"{deed} of {name}"
                known[how] = f"{end_of(called, how)}, then {last}"
            waiting += [called] if new else []
    return found
