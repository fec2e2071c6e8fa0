"""TV213 workflow-cycle."""

from collections.abc import Iterator

from tuvl.analysis.reference_faults import workflow_cycles
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class WorkflowCycle(FaultRule):
    """Workflow steps call each other in a circle.

    Each call would start the next until a limit stops the whole run; nothing would come back.
    """

    code = "TV213"
    name = "workflow-cycle"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Follow the calls of this workflow."""
        return self.report(workflow_cycles(workflow, subject.project), subject)
