"""Which routes and agent exits of the workflows were taken, and which were not."""

from collections.abc import Iterable, Sequence

from tuvl.analysis.graph import route_graph
from tuvl.dataclass import dataclass
from tuvl.project.index import ProjectIndex
from tuvl.scenarios.run import Outcome
from tuvl.scenarios.scenario import view_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A way from one step on; `is_exit` when that step is an agent."""

    step: str
    signal: str
    target: str
    is_exit: bool = False

    def __str__(self) -> str:
        return f"{self.step}: {self.signal} → {self.target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowCoverage:
    """Routes of one workflow, in file order, those that no scenario took, and how many tested or ran it."""

    workflow: str
    scenarios: int
    routes: tuple[Route, ...]
    uncovered: tuple[Route, ...]

    @property
    def exits(self) -> tuple[Route, ...]:
        """Routes that are exits of agents."""
        return tuple(route for route in self.routes if route.is_exit)

    @property
    def uncovered_exits(self) -> tuple[Route, ...]:
        """Exits of agents that no scenario took."""
        return tuple(route for route in self.uncovered if route.is_exit)


def percent(total: int, missing: int) -> float:
    """Return how much is covered, in per cent; nothing to cover is all covered."""
    return 100.0 if total == 0 else (total - missing) * 100 / total


def overall(coverages: Iterable[WorkflowCoverage]) -> float:
    """Return the routes covered over all workflows, in per cent."""
    each = tuple(coverages)
    return percent(sum(len(one.routes) for one in each), sum(len(one.uncovered) for one in each))


def coverage_of(
    project: ProjectIndex, workflows: Sequence[str], outcomes: Sequence[Outcome]
) -> tuple[WorkflowCoverage, ...]:
    """Compute the coverage of workflows by scenarios; those that did not pass count with the way they went.

    What runs inside a step counts for the workflow that it is of.
    """
    return tuple(_coverage(project, name, outcomes) for name in workflows)


def _coverage(project: ProjectIndex, workflow: str, outcomes: Sequence[Outcome]) -> WorkflowCoverage:
    ways = [_taken(outcome, workflow) for outcome in outcomes]
    taken: frozenset[tuple[str, str]] = frozenset().union(*ways)
    routes = routes_of(project, workflow)
    return WorkflowCoverage(
        workflow=workflow,
        scenarios=sum(bool(way) or outcome.workflow == workflow for way, outcome in zip(ways, outcomes, strict=True)),
        routes=routes,
        uncovered=tuple(route for route in routes if (route.step, route.signal) not in taken),
    )


def _taken(outcome: Outcome, workflow: str) -> frozenset[tuple[str, str]]:
    """Steps of a workflow, with the signals that they were left by."""
    taken = outcome.result.taken if outcome.result is not None else ()
    return frozenset((route.step, route.signal) for route in taken if route.workflow == workflow)


def routes_of(project: ProjectIndex, workflow: str) -> tuple[Route, ...]:
    """Return every route that a run can take, in file order; what cannot be reached is left out."""
    view = view_of(project, workflow)
    if view is None:
        return ()
    graph = route_graph(view, project)
    return tuple(
        Route(step=step, signal=signal, target=target, is_exit=graph.steps[step].kind == "Agent")
        for step in graph.spine
        if step in graph.reachable
        for signal, target in graph.taken(step).items()
    )
