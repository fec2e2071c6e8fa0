"""TV503 input-mismatch."""

from collections.abc import Iterator

from tuvl.analysis.input_use import input_mismatches
from tuvl.analysis.schedule_faults import unfit_schedule_input
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class InputMismatch(FaultRule):
    """A key of the input is used in a way that the type in `spec.input` rules out.

    A dotted path into a text, a list wanted where the input gives a number, a comparison of a number with a text: the
    step fails for every input that the schema lets in. So does a workflow whose schema requires a key it forbids. Keys
    that a step writes as well are left out, and so are uses that a condition may skip.
    """

    code = "TV503"
    name = "input-mismatch"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Hold the uses of input keys against their types."""
        yield from self.report(unfit_schedule_input(workflow), subject)
        if subject.keys is not None:
            yield from self.report(input_mismatches(subject.keys), subject)
