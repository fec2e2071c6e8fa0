"""TV305 cycle-without-exit-bound."""

from collections.abc import Iterator

from tuvl.analysis.components import components, cycle_through
from tuvl.analysis.graph import RouteGraph
from tuvl.analysis.steps import WorkflowView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject

_SHOWN = 8


class CycleWithoutExitBound(Rule):
    """Steps lead back to each other, and only a failure leads out of the circle.

    A circle counts as bounded when one of its steps can leave it by success or by decision: a router's `true`, an
    agent's outcome, a person's answer, a node's own signal. Where only `error`, `timeout`, `aborted` or a reserved
    exit leads out, nothing but `max_steps` ends a run in which all goes well. A circle without any way out is TV304.
    """

    code = "TV305"
    name = "cycle-without-exit-bound"
    severity = Severity.WARNING

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look for knots of steps that no decision leads out of."""
        graph = subject.graph
        for knot in components(graph.decided):
            inside = set(knot)
            if not _wanted(graph, knot) or any(target not in inside for step in knot for target in graph.decided[step]):
                continue
            cycle = cycle_through(knot[0], graph.decided, knot)
            shown = (*cycle[:_SHOWN], "…") if len(cycle) > _SHOWN else (*cycle, cycle[0])
            yield self.finding(
                subject,
                (*graph.steps[knot[0]].path, "id"),
                f"only a failure or `max_steps` ends this cycle: {' → '.join(shown)}",
                hint="let a router, an outcome or a node's signal lead out of it, after a counted number of rounds",
            )


def _wanted(graph: RouteGraph, knot: tuple[str, ...]) -> bool:
    return any(step in graph.reachable and step in graph.reaches_end for step in knot)
