"""TV311 fallback-loops."""

from collections.abc import Iterator

from tuvl.analysis.graph import RouteGraph
from tuvl.analysis.signals import FAILURES
from tuvl.analysis.steps import END, WorkflowView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.spec.signals import ERROR


class FallbackLoops(Rule):
    """What an agent's failure is routed to leads straight back into the same agent.

    The agent starts again from nothing, under a fresh budget, and most likely fails again the same way: the bounds of
    one agent are multiplied by `max_steps`. A fallback that decides on the way (a router, a person) is not reported.
    """

    code = "TV311"
    name = "fallback-loops"
    severity = Severity.WARNING

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Follow the failures of each agent."""
        graph = subject.graph
        arrivals: dict[str, str | None] = {}
        for step in graph.spine:
            view = graph.steps[step]
            if view.kind != "Agent":
                continue
            for signal, target in view.routes.items():
                if signal not in FAILURES or (target == step and signal == ERROR) or target not in graph.edges:
                    continue  # an `error` routed to its own step is TV307
                if _arrives(target, graph, arrivals) == step:
                    yield self.finding(
                        subject,
                        (*view.path, "routes", signal),
                        f"the fallback of {step!r} on {signal!r} leads back into {step!r}"
                        + ("" if target == step else f" by way of {target!r}"),
                        hint="lead to a step that ends the run or asks somebody, or let a router count the rounds",
                    )


def _arrives(start: str, graph: RouteGraph, arrivals: dict[str, str | None]) -> str | None:
    """The first agent that a step surely leads to when all goes well; `None` when something decides on the way."""
    way: list[str] = []
    step: str | None = start
    seen: set[str] = set()
    while step is not None and step not in arrivals and step not in seen and graph.steps[step].kind != "Agent":
        seen.add(step)
        way.append(step)
        targets = graph.decided[step]
        step = targets[0] if len(targets) == 1 and targets[0] != END else None
    if step is not None and step in seen:
        arrival = None
    else:
        arrival = arrivals.get(step, step) if step is not None else None
    arrivals.update(dict.fromkeys(way, arrival))
    return arrival
