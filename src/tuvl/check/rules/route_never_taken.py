"""TV303 route-never-taken."""

from collections.abc import Iterator

from tuvl.analysis.signals import ABORTED, MAX_ITERATIONS, SignalSet
from tuvl.analysis.steps import StepView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.spec.signals import DEFAULT, ERROR, RESERVED_EXITS
from tuvl.suggest import certain, closest


class RouteNeverTaken(Rule):
    """`routes:` maps a signal that the step can never return.

    The case somebody wanted to handle is not handled: the signal is misspelt, or the step says it another way. Mapping
    the reserved exits of an agent ahead of their need is good practice and not reported. A router is held against what
    `spec.input` and `set` steps say of the values it looks at.
    """

    code = "TV303"
    name = "route-never-taken"
    severity = Severity.WARNING

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Hold the routes against the signals the step can return."""
        signals = subject.graph.signals.get(step.id)
        if signals is None or not step.routes:
            return
        routers = subject.routers if step.kind == "Router" else None
        listed = routers.listed(step) if routers is not None else ()
        told = SignalSet(signals.known | frozenset(listed))
        spared = _spared(step)
        for signal in step.routes:
            by_value = routers is not None and signal not in _OF_ANY_ROUTER and not routers.may_be(step, signal)
            if (by_value or not signals.may_be(signal)) and signal not in spared:
                known_otherwise = by_value and signals.may_be(signal) and not listed
                yield self.finding(
                    subject,
                    (*step.path, "routes", signal),
                    f"step {step.id!r} never returns {signal!r}",
                    hint=_BY_VALUE if known_otherwise else _hint(signal, told),
                    at_key=True,
                    replacement=None if known_otherwise else _meant(signal, told, step),
                )


_OF_ANY_ROUTER = frozenset({DEFAULT, ERROR})
_BY_VALUE = "what it looks at never comes to that, by `spec.input` or the steps that set it"


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
