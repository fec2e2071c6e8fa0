"""TV703 templated-host."""

from collections.abc import Iterator

from tuvl.analysis.steps import StepView
from tuvl.analysis.urls import templated_hosts
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class TemplatedHost(FaultRule):
    """The host of a URL comes from a template, and the project's `allow_hosts` cannot cover it.

    Whoever fills in the value would choose where the request goes, with its headers and credentials. Such a call is
    refused at run, whatever the value is; a host that varies has to be among those the project names.
    """

    code = "TV703"
    name = "templated-host"
    severity = Severity.ERROR

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at the URL of a call."""
        yield from self.report(templated_hosts(step, subject.project), subject)
