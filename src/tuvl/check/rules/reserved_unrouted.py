"""TV302 reserved-unrouted."""

from collections.abc import Iterator

from tuvl.analysis.signals import (
    ABORTED,
    BUDGET_EXCEEDED,
    GUARDRAIL_VIOLATION,
    MAX_ITERATIONS,
    PARSE_ERROR,
    TIMEOUT,
)
from tuvl.analysis.steps import StepView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject

_WHEN = {
    MAX_ITERATIONS: "an agent that has not answered within its iterations",
    BUDGET_EXCEEDED: "an agent that has used up a budget",
    GUARDRAIL_VIOLATION: "text that a guardrail refuses",
    PARSE_ERROR: "a reply that cannot be read",
    TIMEOUT: "a model call that takes too long",
}

_OF_LOOP = (MAX_ITERATIONS, BUDGET_EXCEEDED, GUARDRAIL_VIOLATION, ABORTED)
_OF_COMPLETION = (GUARDRAIL_VIOLATION, PARSE_ERROR, TIMEOUT)


class ReservedUnrouted(Rule):
    """An agent can leave on an exit of the engine that `routes:` does not map.

    `max_iterations`, `budget_exceeded` (when something bounds the agent) and `guardrail_violation` (when a guardrail
    is attached) make the run fail with an engine error when they are unmapped; the work already paid for is lost. An
    unmapped `aborted` ends the run cleanly, but without the step that would have told somebody. Of a completion,
    `guardrail_violation`, `parse_error` and `timeout` are looked at.
    """

    code = "TV302"
    name = "reserved-unrouted"
    severity = Severity.WARNING

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Hold the reserved exits against the routes."""
        signals = subject.graph.signals.get(step.id)
        if signals is None or step.mode not in ("autonomous", "completion"):
            return
        for signal in _OF_LOOP if step.mode == "autonomous" else _OF_COMPLETION:
            if signal in signals.known and signal not in step.routes:
                yield self._unmapped(step, signal, subject)

    def _unmapped(self, step: StepView, signal: str, subject: Subject) -> Finding:
        if signal == ABORTED:
            then = "an abort then ends the run without a step of its own"
        else:
            then = f"{_WHEN[signal]} then fails the run with an engine error"
        routed = "routes" in step.data
        return self.finding(
            subject,
            (*step.path, "routes") if routed else (*step.path, "id"),
            f"exit {signal!r} of step {step.id!r} has no route: {then}",
            hint=f"add `{signal}: <step id>` under `routes:`",
            at_key=routed,
        )
