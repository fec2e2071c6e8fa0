"""TV303 route-never-taken."""

from collections.abc import Iterator

from tuvl.analysis.schema_facts import part_of
from tuvl.analysis.signals import ABORTED, MAX_ITERATIONS, SignalSet
from tuvl.analysis.steps import StepView, items, mapping, text
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.spec.signals import DEFAULT, ERROR, RESERVED_EXITS
from tuvl.suggest import certain, closest


class RouteNeverTaken(Rule):
    """`routes:` maps a signal that the step can never return.

    The case somebody wanted to handle is not handled: the signal is misspelt, or the step says it another way. Mapping
    the reserved exits of an agent ahead of their need is good practice and not reported.
    """

    code = "TV303"
    name = "route-never-taken"
    severity = Severity.WARNING

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Hold the routes against the signals the step can return."""
        signals = subject.graph.signals.get(step.id)
        if signals is not None and signals.open and step.kind == "Router":
            signals = _matched(step, subject)
        if signals is None or signals.open or not step.routes:
            return
        spared = _spared(step)
        for signal in step.routes:
            if signal not in signals.known and signal not in spared:
                yield self.finding(
                    subject,
                    (*step.path, "routes", signal),
                    f"step {step.id!r} never returns {signal!r}",
                    hint=_hint(signal, signals),
                    at_key=True,
                    replacement=_meant(signal, signals, step),
                )


def _matched(step: StepView, subject: Subject) -> SignalSet | None:
    """Signals of a router that matches a value of the input which `spec.input` lists; `None` for any other."""
    path = (text(step.get("match", "field")) or "").split(".")
    written = subject.step_keys
    if written.open or path[0] in written.known:
        return None
    values = items(mapping(part_of(subject.graph.workflow.spec.get("input"), path)).get("enum"))
    if not values or not all(isinstance(value, str) for value in values):
        return None
    return SignalSet(frozenset({*values, DEFAULT, ERROR}))


def _meant(signal: str, signals: SignalSet, step: StepView) -> str | None:
    """Return the signal that a misspelt one must mean, when no route is there for it yet."""
    name = certain(signal, signals.known)
    return name if name not in step.routes else None


def _spared(step: StepView) -> frozenset[str]:
    if step.kind != "Agent":
        return frozenset({ABORTED})
    return RESERVED_EXITS - {MAX_ITERATIONS} if step.mode == "completion" else RESERVED_EXITS


def _hint(signal: str, signals: SignalSet) -> str:
    near = closest(signal, sorted(signals.known))
    if near is not None:
        return f"did you mean {near!r}?"
    return f"it can return {', '.join(sorted(signals.known))}"
