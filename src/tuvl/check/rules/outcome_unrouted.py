"""TV203 outcome-unrouted."""

from collections.abc import Iterator

from tuvl.analysis.route_faults import unrouted_outcomes
from tuvl.analysis.steps import StepView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class OutcomeUnrouted(FaultRule):
    """Every value of `outcome.enum` must appear under `routes:`.

    The model may end on any declared value. An unmapped one stops the run with an error at the very end, after its
    whole budget has been spent.
    """

    code = "TV203"
    name = "outcome-unrouted"
    severity = Severity.ERROR

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Hold the outcomes against the routes."""
        return self.report(unrouted_outcomes(step, subject.graph), subject)
