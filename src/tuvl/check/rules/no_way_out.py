"""TV304 no-way-out."""

from collections.abc import Iterator

from tuvl.analysis.route_faults import no_way_out
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class NoWayOut(FaultRule):
    """A run can come to steps from which no end of the workflow can be reached.

    Ends are `END` and the fall-through of the last step; that a step may fail is no way out. Such a run goes round
    until `max_steps` stops it, and has then done everything many times over.
    """

    code = "TV304"
    name = "no-way-out"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look for knots of steps that nothing leads out of."""
        return self.report(no_way_out(subject.graph), subject)
