"""TV310 falls-into-branch."""

from collections.abc import Iterator

from tuvl.analysis.graph import RouteGraph
from tuvl.analysis.signals import FAILURES
from tuvl.analysis.steps import END, WorkflowView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.spec.signals import DEFAULT


class FallsIntoBranch(Rule):
    """A branch has no route at its end and falls through into the branch that stands after it.

    One step routes to both branches; the steps of the first one end without a `default` route, so the run goes on
    with the other one, as in a `switch` without `break`. A step that several steps lead to on success is where
    branches meet, and is not reported; say `default: <id>` where running on is what you mean.
    """

    code = "TV310"
    name = "falls-into-branch"
    severity = Severity.WARNING

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at each pair of neighbours on the spine."""
        graph = subject.graph
        rank = {step: position for position, step in enumerate(graph.spine)}
        routed_from = _routed_from(graph, rank)
        head: str | None = None
        for step, after in zip(graph.spine, graph.spine[1:], strict=False):
            if step in routed_from:
                head = step
            if not graph.falls_through(step):
                head = None
            elif head is not None and after in routed_from:
                split = _split(graph, routed_from, head, after)
                if split is not None:
                    yield self._finding(step, head, after, split, graph, subject)

    def _finding(self, step: str, head: str, after: str, split: str, graph: RouteGraph, subject: Subject) -> Finding:
        signal = next(signal for signal, target in graph.steps[split].routes.items() if target == after)
        branch = "" if head == step else f", in the branch of {head!r},"
        return self.finding(
            subject,
            (*graph.steps[step].path, "id"),
            f"step {step!r}{branch} falls through into {after!r}, where {split!r} leads on {signal!r}",
            hint=f"add `routes: {{{DEFAULT}: {END}}}` to {step!r}, or `{DEFAULT}: {after}` if it is meant",
        )


def _routed_from(graph: RouteGraph, rank: dict[str, int]) -> dict[str, dict[str, bool]]:
    """Step id → the steps before it that route to it, and whether they do so on success or decision."""
    found: dict[str, dict[str, bool]] = {}
    for step in graph.spine:
        for signal, target in graph.steps[step].routes.items():
            if rank.get(target, -1) > rank[step]:
                sources = found.setdefault(target, {})
                sources[step] = sources.get(step, False) or signal not in FAILURES
    return found


def _split(graph: RouteGraph, routed_from: dict[str, dict[str, bool]], head: str, after: str) -> str | None:
    """The step that chooses between the two branches; `None` when `after` is where branches meet."""
    sources = routed_from[after]
    if sum(sources.values()) > 1:
        return None
    return next((source for source in sources if source in routed_from[head]), None)
