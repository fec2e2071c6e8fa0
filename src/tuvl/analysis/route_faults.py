"""What is wrong with the routes of a workflow: targets that are not there, signals without a route, no way out."""

from collections.abc import Iterator

from tuvl.analysis.components import components, cycle_through
from tuvl.analysis.fault import Fault
from tuvl.analysis.graph import RouteGraph
from tuvl.analysis.router_cases import signals_of_cases
from tuvl.analysis.signals import (
    ENDS_CLEANLY,
    FAILURES,
    TIMEOUT,
    feedback_choices,
    outcomes,
    when_signals,
)
from tuvl.analysis.steps import END, StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.spec.signals import DEFAULT
from tuvl.suggest import certain, closest
from tuvl.values import KeyPath

MOST_GUESSES = 50
"""Unknown names of one workflow for which the nearest known one is looked up; each look-up reads all steps."""


def reserved_ids(workflow: WorkflowView) -> Iterator[Fault]:
    """Steps with the id that ends a run."""
    for step in workflow.steps:
        if step.id == END:
            yield Fault((*step.path, "id"), f"a step cannot have the id {END!r}", "choose another id")


def unknown_targets(workflow: WorkflowView) -> Iterator[Fault]:
    """Routes to steps that are not there."""
    guesses = MOST_GUESSES
    for step in workflow.steps:
        for signal, target in step.routes.items():
            if target != END and target not in workflow.by_id:
                yield Fault(
                    (*step.path, "routes", signal),
                    f"route {signal!r} of step {step.id!r} leads to {target!r}, which is no step of this workflow",
                    _target_hint(target, workflow, guess=guesses > 0),
                    replacement=certain(target, (*workflow.by_id, END)) if guesses > 0 else None,
                )
                guesses -= 1


def _target_hint(target: str, workflow: WorkflowView, *, guess: bool) -> str:
    if target.upper() == END:
        return f"write `{END}` in capitals to end the run"
    near = closest(target, workflow.by_id) if guess else None
    if near is not None:
        return f"did you mean {near!r}?"
    return f"name a step of this workflow, or `{END}`"


def unrouted_outcomes(step: StepView, graph: RouteGraph) -> Iterator[Fault]:
    """Values of `outcome.enum` that the routes do not map; an unmapped `default` falls through and is none."""
    if step.id in graph.off_spine or not _routes_readable(step):
        return
    declared = set(outcomes(step))
    for index, value in enumerate(items(mapping(step.agent.get("outcome")).get("enum"))):
        if isinstance(value, str) and value in declared and value not in step.routes and value not in _SPARED:
            declared.discard(value)
            yield Fault(
                (*step.path, "agent", "outcome", "enum", index),
                f"outcome {value!r} of step {step.id!r} has no route",
                f"add `{value}: <step id>` under `routes:` of {step.id!r}, or `{value}: {END}` to end the run there",
            )


_SPARED = FAILURES | {DEFAULT}


def _routes_readable(step: StepView) -> bool:
    """Whether `routes:` is absent or a mapping of texts; else its own mistake says all there is to say."""
    routes = step.data.get("routes")
    return routes is None or (isinstance(routes, dict) and len(step.routes) == len(routes))


def dead_ends(step: StepView, graph: RouteGraph, project: Surroundings) -> Iterator[Fault]:
    """Signals that a router, a node or a question can return and that nothing maps: the run would fail there."""
    if step.id in graph.off_spine or not _routes_readable(step):
        return
    stuck = _goes_nowhere(step, graph)
    for signal, path, source in _certain_signals(step, project):
        if signal not in step.routes and signal != DEFAULT and signal not in ENDS_CLEANLY:
            yield Fault(
                path,
                f"step {step.id!r} can return {signal!r} ({source}), which its routes do not map",
                f"add `{_key(signal)}: <step id>` under `routes:` of {step.id!r}, or `{_key(signal)}: {END}`",
                final=stuck,
            )


def _goes_nowhere(step: StepView, graph: RouteGraph) -> bool:
    """Whether no signal by which the step does not fail leads on, so that every run that comes to it ends there."""
    possible = graph.signals[step.id]
    if possible.open:
        return False
    signals = set(possible.known) - ENDS_CLEANLY
    if step.kind == "Router" and "when" in step.data:
        signals &= signals_of_cases(step, lambda _: None)
    return DEFAULT not in signals and not signals & step.routes.keys()


def _key(signal: str) -> str:
    return f'"{signal}"' if signal in ("true", "false", "null") else signal


def _certain_signals(step: StepView, project: Surroundings) -> Iterator[tuple[str, KeyPath, str]]:
    match step.kind:
        case "Router":
            yield from _router_signals(step)
        case "Functional":
            runner = text(step.data.get("runner"))
            node = project.nodes.declared.get(runner) if runner else None
            for signal in dict.fromkeys(node.signals or ()) if node else ():
                yield signal, (*step.path, "runner"), f"declared by node {runner!r}"
        case "HumanInTheLoop":
            yield from _human_signals(step)


def _router_signals(step: StepView) -> Iterator[tuple[str, KeyPath, str]]:
    if "when" in step.data:
        first: dict[str, int] = {}
        for index, case in enumerate(items(step.data.get("when"))):
            first.setdefault(text(mapping(case).get("signal")) or DEFAULT, index)
        for signal in when_signals(step):
            yield signal, (*step.path, "when", first[signal], "signal"), "a case of `when`"
    elif "match" not in step.data and isinstance(step.data.get("condition"), dict):
        yield "true", (*step.path, "condition"), "the condition holds"
        yield "false", (*step.path, "condition"), "the condition does not hold"


def _human_signals(step: StepView) -> Iterator[tuple[str, KeyPath, str]]:
    if step.data.get("timeout_s") is not None:
        yield TIMEOUT, (*step.path, "timeout_s"), "no answer in time"
    if step.data.get("signal_from") is not None and DEFAULT not in step.routes:
        for choice in feedback_choices(step) or ():
            yield choice, (*step.path, "signal_from"), "a possible answer"


def no_beginning(graph: RouteGraph) -> Iterator[Fault]:
    """A workflow in which every step is only referred to by others, so that no run has a first step."""
    if graph.steps and not graph.spine:
        yield Fault(
            ("spec", "steps"),
            "no run has a first step: each step is only referred to by others, as a tool, a body or a target",
            "add the step that refers to them, or a route that leads to one of them",
            at_key=True,
            final=True,
        )


def no_way_out(graph: RouteGraph) -> Iterator[Fault]:
    """Knots of steps that the run can enter and from which no end of the workflow can be reached."""
    stuck = [step for step in graph.spine if step in graph.reachable and step not in graph.reaches_end]
    inside = {step: tuple(dict.fromkeys(graph.taken(step).values())) for step in stuck}
    for knot in components(inside):
        if any(target not in knot for step in knot for target in inside[step]):
            continue  # it leads into another knot, which is reported
        cycle = cycle_through(knot[0], inside, knot)
        shown = " → ".join((*cycle[:8], "…") if len(cycle) > 8 else (*cycle, cycle[0]))
        yield Fault(
            (*graph.steps[knot[0]].path, "id"),
            f"from step {knot[0]!r} no end of the workflow can be reached: {shown}",
            f"route one of these steps to `{END}` or to a step that leads there",
        )
