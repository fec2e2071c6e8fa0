"""TV406 outcome-reserved."""

from collections.abc import Iterator

from tuvl.analysis.agent_faults import bad_outcomes
from tuvl.analysis.steps import StepView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class OutcomeReserved(FaultRule):
    """A value of `outcome.enum` is an exit of the engine, or declared twice, or no text; or two fields meet in one key.

    `max_iterations`, `budget_exceeded`, `error`, `aborted` and `guardrail_violation` say that the engine stopped the
    agent. If the model could choose them, a route for failures would also be taken on success. Two fields of an answer
    that `outcome.map` sends to one context key overwrite each other, and which of them is left depends on the model.
    """

    code = "TV406"
    name = "outcome-reserved"
    severity = Severity.ERROR

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at the outcomes."""
        return self.report(bad_outcomes(step), subject)
