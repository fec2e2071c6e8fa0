"""TV503 input-mismatch."""

from collections.abc import Iterator

from tuvl.analysis.input_use import input_mismatches
from tuvl.analysis.schedule_faults import unfit_schedule_input
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class InputMismatch(FaultRule):
    """A value is used in a way that its type rules out: by `spec.input`, or as a `set` step writes it.

    A dotted path into a text, a list wanted where the input gives a number, a comparison of a number with a text, a
    condition that is neither true nor false, an input that the workflow called refuses: the step fails for every input
    that the schema lets in. So does a workflow whose schema lets no mapping in, or requires a key it forbids. Keys that
    other steps may write as well are left out, and so are uses that a condition may skip.
    """

    code = "TV503"
    name = "input-mismatch"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Hold the uses of keys against what is known of their values."""
        yield from self.report(unfit_schedule_input(workflow), subject)
        if subject.keys is not None:
            yield from self.report(input_mismatches(subject.keys, subject.project), subject)
