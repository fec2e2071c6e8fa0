"""Dangerous writes that a call comes to without a person on the way: its own, or one of the workflow that it runs."""

from collections.abc import Iterator
from typing import NamedTuple

from tuvl.analysis.graph import RouteGraph, route_graph
from tuvl.analysis.inside import MOST, writes_in_fact
from tuvl.analysis.steps import END, StepView, WorkflowView, mapping, text
from tuvl.analysis.surroundings import Surroundings


class Danger(NamedTuple):
    """A write that is marked `danger: true`."""

    step: StepView
    workflow: str | None
    """The workflow it stands in, where that is not the one that calls."""


def danger_behind(step: StepView, workflow: WorkflowView, project: Surroundings) -> Danger | None:
    """The first dangerous write that running a step leads to, if nobody is asked before."""
    seen: set[str] = set()
    waiting: list[tuple[StepView, WorkflowView, str | None]] = [(step, workflow, None)]
    while waiting:
        current, view, name = waiting.pop(0)
        if current.data.get("danger") is True and writes_in_fact(current, view, project):
            return Danger(current, name)
        if current.kind == "ForEach":
            body = view.by_id.get(text(current.data.get("step")) or "")
            if body is not None and body.kind != "ForEach":
                waiting.append((body, view, name))
        inner = text(current.data.get("workflow")) if current.kind == "Workflow" else None
        document = project.workflow(inner) if inner and inner not in seen and len(seen) < MOST else None
        if inner and document is not None:
            seen.add(inner)
            below = WorkflowView(mapping(document.data))
            waiting.extend((each, below, inner) for each in _before_a_person(route_graph(below, project)))
    return None


def _before_a_person(graph: RouteGraph) -> Iterator[StepView]:
    """The steps that some way leads to on which nobody has answered."""
    seen = {graph.entry, END}
    waiting = [graph.entry] if graph.entry is not None else []
    while waiting:
        current = waiting.pop(0)
        step = graph.steps[current]
        yield step
        if step.kind == "HumanInTheLoop":
            continue
        for target in graph.taken(current).values():
            if target not in seen:
                seen.add(target)
                waiting.append(target)
