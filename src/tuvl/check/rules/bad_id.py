"""TV108 bad-id."""

from collections.abc import Iterator

from tuvl.analysis.steps import END, StepView
from tuvl.check.finding import Finding, Severity
from tuvl.check.reported import ShapeRule
from tuvl.check.rule import Subject


class BadId(ShapeRule):
    """An id or a name has characters, or a length, that its place does not allow.

    Ids become keys of the context, names of tools that a provider sees, parts of references and of file names; one
    that works here and not there would fail late, in the middle of a run.
    """

    code = "TV108"
    name = "bad-id"
    severity = Severity.ERROR

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look for a step that is called like the end of the run."""
        if step.data.get("id") == END:
            message = f"a step cannot have the id {END!r}: as a route target that ends the run"
            yield self.finding(subject, (*step.path, "id"), message, hint="give the step another id")
