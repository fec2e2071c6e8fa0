"""TV220 not-available."""

from collections.abc import Iterator

from tuvl.analysis.not_yet import not_yet
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class NotAvailable(FaultRule):
    """A workflow uses a part of the language that this version can check and cannot run.

    A run refuses it before its first step, since leaving the part out would be another workflow: one that nobody is
    asked in, or that nothing watches. The rest of the file is checked as ever.
    """

    code = "TV220"
    name = "not-available"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look for what cannot be run."""
        yield from self.report(not_yet(workflow), subject)
