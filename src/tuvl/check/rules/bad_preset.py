"""TV220 bad-preset."""

from collections.abc import Iterator

from tuvl.analysis.preset_faults import preset_faults
from tuvl.analysis.steps import mapping
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class BadPreset(FaultRule):
    """The `api_base` of a language model is no URL to call: no `http(s)://`, no host, or more than an address.

    The run would begin, do what comes before its first model call, and fail there. A user name or a password in the
    address would go into logs with it. Variables count as written well; their values are looked at when the model is
    made.
    """

    code = "TV220"
    name = "bad-preset"
    severity = Severity.ERROR

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at the address of a model."""
        if subject.kind == "AgentModel":
            yield from self.report(preset_faults(mapping(subject.document.data)), subject)
