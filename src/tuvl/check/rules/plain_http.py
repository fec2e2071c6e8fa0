"""TV704 plain-http."""

from collections.abc import Iterator

from tuvl.analysis.steps import mapping
from tuvl.analysis.urls import plain_http
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class PlainHttp(FaultRule):
    """A URL begins with `http://` and leads to another machine.

    What is sent and answered can be read and changed on the way, credentials included, and a changed answer is what
    the next step works with. This machine itself is left out.
    """

    code = "TV704"
    name = "plain-http"
    severity = Severity.WARNING

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at the URLs of the document."""
        yield from self.report(plain_http(mapping(subject.document.data), subject.kind), subject)
