"""TV208 unknown-data-model."""

from collections.abc import Iterator

from tuvl.analysis.reference_faults import unknown_data_models
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class UnknownDataModel(FaultRule):
    """A ModelOp works on a data model that is not defined, or that the workflow's `context:` does not list.

    `context:` says which records a workflow may touch. A step outside of it is refused at run; a reader of the file
    must be able to trust the list.
    """

    code = "TV208"
    name = "unknown-data-model"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look up the data models of the workflow."""
        return self.report(unknown_data_models(workflow, subject.project), subject)
