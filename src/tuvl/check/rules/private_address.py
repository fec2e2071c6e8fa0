"""TV712 private-address."""

from collections.abc import Iterator

from tuvl.analysis.steps import mapping
from tuvl.analysis.urls import private_addresses
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class PrivateAddress(FaultRule):
    """A URL names a private, link-local or metadata address, or this machine, and the project does not allow it.

    Such calls are refused at run, because they reach what the network takes for its own: databases, control planes,
    the credentials of a cloud machine. An address that is meant to be reached is named in `spec.http.allow_hosts`.
    """

    code = "TV712"
    name = "private-address"
    severity = Severity.WARNING

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at the URLs of the document."""
        data = mapping(subject.document.data)
        yield from self.report(private_addresses(data, subject.kind, subject.project), subject)
