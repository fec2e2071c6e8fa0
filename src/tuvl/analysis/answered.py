"""Whether a person has decided before something happens: the one place that says which exits mean it.

Asking is not enough. A question that nobody answers in time, or that cannot be asked at all, leaves as well, and what
comes then, nobody has decided.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tuvl.analysis.approvals import always_asks
from tuvl.analysis.graph import RouteGraph, route_graph
from tuvl.analysis.inside import MOST, acts, acts_itself, body_of, inside
from tuvl.analysis.parameters import tool_uses
from tuvl.analysis.signals import ABORTED, FAILURES, TIMEOUT
from tuvl.analysis.steps import END, StepView, WorkflowView, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.spec.signals import ERROR

UNANSWERED = frozenset({ERROR, ABORTED, TIMEOUT})
"""Exits of a question to which there is no answer, or none that can be told from that."""


def is_answer(step: StepView, signal: str) -> bool:
    """Whether a person has decided when a step leaves by a signal, whatever they said: routes see to that.

    No exit of an agent means it, though its calls may wait for approval: it may have made none, or been refused.
    """
    return step.kind == "HumanInTheLoop" and signal not in UNANSWERED


class Unasked(NamedTuple):
    """What of a workflow can happen before a person has decided."""

    graph: RouteGraph
    reached: tuple[StepView, ...]
    """Steps that some way leads to on which nobody has, nearest first."""
    ends: bool
    """Whether the workflow can also come to its end so."""


class Unanswered:
    """Looks at the workflows of a project, each once."""

    def __init__(self, project: Surroundings) -> None:
        self.project = project
        self._known: dict[str, Unasked | None] = {}
        self._within: list[str] = []

    def of(self, name: str | None) -> Unasked | None:
        """A workflow of the project; `None` where it is not there, calls itself, or lies too deep."""
        if name is None or name in self._within or len(self._within) >= MOST:
            return None
        if name not in self._known:
            document = self.project.workflow(name)
            self._within.append(name)
            self._known[name] = None if document is None else self._before(WorkflowView(mapping(document.data)))
            self._within.pop()
        return self._known[name]

    def _before(self, view: WorkflowView) -> Unasked:
        graph = route_graph(view, self.project)
        # Steps routed from `aborted` still run, but whatever they come to, the run is aborted and goes on nowhere.
        going_on = self._reached(graph, without=ABORTED)
        return Unasked(graph, self._reached(graph), graph.entry is None or any(self._ends(graph, going_on)))

    def _reached(self, graph: RouteGraph, *, without: str | None = None) -> tuple[StepView, ...]:
        reached = {} if graph.entry is None else {graph.entry: graph.steps[graph.entry]}
        waiting = list(reached.values())
        while waiting:
            for target in self._undecided(graph, waiting.pop(0), without):
                if target != END and target not in reached:
                    reached[target] = graph.steps[target]
                    waiting.append(reached[target])
        return tuple(reached.values())

    def _ends(self, graph: RouteGraph, reached: tuple[StepView, ...]) -> Iterator[bool]:
        return (target == END for step in reached for target in self._undecided(graph, step, ABORTED))

    def _undecided(self, graph: RouteGraph, step: StepView, without: str | None) -> Iterator[str]:
        """Where a step leads by signals that mean no decision of a person."""
        for signal, target in graph.taken(step.id).items():
            if signal != without and not self.has_decided(step, signal):
                yield target

    def has_decided(self, step: StepView, signal: str) -> bool:
        """Whether a person has when a step leaves by a signal: it asks, or the workflow that it runs does on all ways.

        A list may have no items, so that a question to a person for each says nothing.
        """
        if step.kind != "Workflow" or signal in FAILURES:
            return is_answer(step, signal)
        inner = self.of(text(step.data.get("workflow")))
        return inner is not None and not inner.ends

    def steps(self, unasked: Unasked) -> Iterator[StepView]:
        """The steps that can run unasked, those included that others call: tools, bodies, helpers, targets of hooks."""
        graph = unasked.graph
        seen = {step.id for step in unasked.reached}
        waiting = [*unasked.reached]
        waiting += self._called(graph, graph.workflow.name, frozenset(), seen)
        while waiting:
            step = waiting.pop(0)
            yield step
            asked = {use.ref for use in tool_uses(step, graph.workflow) if always_asks(use, self.project)}
            waiting += self._called(graph, step.id, frozenset(asked), seen)

    @staticmethod
    def _called(graph: RouteGraph, owner: str, asked: frozenset[str], seen: set[str]) -> list[StepView]:
        names = dict.fromkeys(
            each.target
            for each in graph.references
            if each.owner == owner and each.target in graph.steps and not (each.role == "tool" and each.target in asked)
        )
        found = [graph.steps[name] for name in names if name not in seen]
        seen.update(step.id for step in found)
        return found


def acts_unasked(step: StepView, workflow: WorkflowView, project: Surroundings) -> bool:
    """Whether running a step can change something outside before a person has decided; in doubt it can."""
    body = body_of(step, workflow)
    if body.kind != "Workflow" or not acts(step, workflow, project):
        return acts(step, workflow, project)
    name = text(body.data.get("workflow"))
    views = inside(name, project)
    if views is None or not any(acts_itself(each, project) for view in views for each in view.steps):
        return True  # it says so itself, or nobody can tell
    look = Unanswered(project)
    waiting, seen = [name], {name}
    while waiting:
        unasked = look.of(waiting.pop())
        if unasked is None:
            return True
        for each in look.steps(unasked):
            if acts_itself(each, project):
                return True
            inner = text(each.data.get("workflow")) if each.kind == "Workflow" else None
            if inner is not None and inner not in seen:
                seen.add(inner)
                waiting.append(inner)
    return False
