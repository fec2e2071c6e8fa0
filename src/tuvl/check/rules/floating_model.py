"""TV802 floating-model."""

from collections.abc import Iterator

from tuvl.analysis.pins import floating_models
from tuvl.analysis.steps import mapping
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class FloatingModel(FaultRule):
    """A model is named by an alias that its provider moves from one snapshot to the next.

    What was tested is then not what runs next month, and nothing in the project says so. A dated name asks the same
    model every time. Models of one's own servers are left out, unless their name says `latest`.
    """

    code = "TV802"
    name = "floating-model"
    severity = Severity.WARNING

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at the models that the document names."""
        yield from self.report(floating_models(mapping(subject.document.data), subject.kind), subject)
