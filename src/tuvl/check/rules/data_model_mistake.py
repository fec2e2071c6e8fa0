"""TV216 data-model-mistake."""

from collections.abc import Iterator

from tuvl.analysis.steps import StepView, WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject
from tuvl.data.mistakes import missing_versions, model_faults, operation_faults


class DataModelMistake(FaultRule):
    """A data model contradicts itself or its project, or a ModelOp step asks for what its data model does not have.

    A field is there twice, a default is no value of its field, a relation or a data source leads nowhere, a record is
    to be found by a key that the model does not have. No table can be made of that, so that the run would be refused,
    or would fail at its first record.
    """

    code = "TV216"
    name = "data-model-mistake"
    severity = Severity.ERROR

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at a data model."""
        if subject.kind == "ModelDefinition":
            yield from self.report(model_faults(subject.document, subject.project), subject)

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at the versions that the workflow asks for."""
        yield from self.report(missing_versions(workflow, subject.project), subject)

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at what a step asks of its data model."""
        if step.kind == "ModelOp" and subject.workflow is not None:
            yield from self.report(operation_faults(step, subject.workflow, subject.project), subject)
