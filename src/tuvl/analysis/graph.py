"""The route graph of a workflow: its spine, where each signal leads, what is reached and what loops.

The rules are those of the engine. A step that others only refer to (a tool, a hook's target, a ForEach body, a helper
of an agent) and that no route names is off the spine. The entry is the first step of the spine. An unmapped `default`
falls through to the next step of the spine, and completes the run at the last one. An unmapped `error` or `aborted`
ends the run; any other unmapped signal is a fault. All algorithms are iterative and linear, whatever the size.
"""

from collections.abc import Mapping
from functools import cached_property

from tuvl.analysis.components import closure, components, cycle_through
from tuvl.analysis.references import StepReference, step_references
from tuvl.analysis.signals import ENDS_CLEANLY, FAILURES, SignalSet, possible_signals
from tuvl.analysis.steps import END, StepView, WorkflowView
from tuvl.analysis.surroundings import ALONE, Surroundings
from tuvl.dataclass import dataclass
from tuvl.spec.signals import DEFAULT


@dataclass(frozen=True)
class RouteGraph:
    """Where the signals of a workflow's steps lead."""

    workflow: WorkflowView
    steps: Mapping[str, StepView]
    """Step id → first step that has it, on the spine or off it."""
    spine: tuple[str, ...]
    """Ids of the steps on the spine, in file order."""
    off_spine: frozenset[str]
    references: tuple[StepReference, ...]
    """What names a step without routing to it."""
    signals: Mapping[str, SignalSet]
    """Step id → signals it can return; steps of the spine only."""
    edges: Mapping[str, Mapping[str, str]]
    """Step id → signal → step id or `END`: routes to steps that exist, and the fall-through where there is one."""

    @property
    def entry(self) -> str | None:
        """The step a run starts with."""
        return self.spine[0] if self.spine else None

    @cached_property
    def _next(self) -> Mapping[str, str]:
        return dict(zip(self.spine, self.spine[1:], strict=False))

    def next_of(self, step: str) -> str | None:
        """Where an unmapped `default` falls through to; `None` at the last step, and off the spine."""
        return self._next.get(step)

    def falls_through(self, step: str) -> bool:
        """Whether the step's `default` is unmapped and leads on by position."""
        return DEFAULT in self.edges[step] and DEFAULT not in self.steps[step].routes

    def taken(self, step: str) -> dict[str, str]:
        """The edges of a step that it can really take."""
        signals = self.signals[step]
        return {signal: target for signal, target in self.edges[step].items() if signals.may_be(signal)}

    @cached_property
    def successors(self) -> Mapping[str, tuple[str, ...]]:
        """Step id → steps that any of its edges leads to, each once."""
        return {step: tuple(dict.fromkeys(edges.values())) for step, edges in self.edges.items()}

    @cached_property
    def decided(self) -> Mapping[str, tuple[str, ...]]:
        """Step id → steps and `END` that it leads to by success or decision, failures left out."""
        return {
            step: tuple(dict.fromkeys(target for signal, target in self.taken(step).items() if signal not in FAILURES))
            for step in self.spine
        }

    @cached_property
    def reachable(self) -> frozenset[str]:
        """Steps that some path from the entry leads to."""
        return (closure([self.entry], self.successors) if self.entry else frozenset()) - {END}

    @cached_property
    def reaches_end(self) -> frozenset[str]:
        """Steps from which an end of the workflow can be reached.

        An end is `END`, the fall-through of the last step, or the unmapped error of a step that returns nothing else
        (`fail`). Faults that are reported elsewhere (a route to nowhere, an unmapped outcome) count as ends, too.
        """
        sources: dict[str, list[str]] = {}
        ends: list[str] = []
        for step in self.spine:
            targets = set(self.taken(step).values())
            if END in targets or self._ends_here(step):
                ends.append(step)
            for target in targets:
                sources.setdefault(target, []).append(step)
        return closure(ends, sources)

    def _ends_here(self, step: str) -> bool:
        routes = self.steps[step].routes
        if any(target != END and target not in self.steps for target in routes.values()):
            return True
        known = self.signals[step].known
        unmapped = {signal for signal in known if signal not in self.edges[step]}
        return bool(unmapped - FAILURES) or (known <= ENDS_CLEANLY and bool(unmapped))

    @cached_property
    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """One shortest cycle for each knot of steps that lead back to each other, in file order."""
        return tuple(cycle_through(knot[0], self.successors, knot) for knot in components(self.successors))


def route_graph(workflow: WorkflowView, project: Surroundings = ALONE) -> RouteGraph:
    """Compute the route graph; `project` is asked for nodes and hooks that the workflow names."""
    steps = workflow.by_id
    references = step_references(workflow, project)
    routed = {target for step in workflow.steps for target in step.routes.values()}
    off_spine = frozenset(each.target for each in references if each.target in steps and each.target not in routed)
    spine = tuple(step for step in steps if step not in off_spine)
    signals = {step: possible_signals(steps[step], workflow.spec, project) for step in spine}
    edges: dict[str, Mapping[str, str]] = {}
    for position, step in enumerate(spine):
        targets = {signal: target for signal, target in steps[step].routes.items() if target == END or target in steps}
        if DEFAULT not in steps[step].routes and signals[step].may_be(DEFAULT):
            targets[DEFAULT] = spine[position + 1] if position + 1 < len(spine) else END
        edges[step] = targets
    return RouteGraph(
        workflow=workflow,
        steps=steps,
        spine=spine,
        off_spine=off_spine,
        references=references,
        signals=signals,
        edges=edges,
    )
