"""Dangerous writes that a call comes to without a person on the way: its own, or one of the workflow that it runs."""

from typing import NamedTuple

from tuvl.analysis.answered import Unanswered
from tuvl.analysis.inside import MOST, writes_in_fact
from tuvl.analysis.steps import StepView, WorkflowView, text
from tuvl.analysis.surroundings import Surroundings


class Danger(NamedTuple):
    """A write that is marked `danger: true`."""

    step: StepView
    workflow: str | None
    """The workflow it stands in, where that is not the one that calls."""


def danger_behind(step: StepView, workflow: WorkflowView, project: Surroundings) -> Danger | None:
    """The first dangerous write that running a step leads to, if nobody has decided before."""
    look = Unanswered(project)
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
        unasked = look.of(inner) if inner and inner not in seen and len(seen) < MOST else None
        if inner and unasked is not None:
            seen.add(inner)
            waiting.extend((each, unasked.graph.workflow, inner) for each in unasked.reached)
    return None
