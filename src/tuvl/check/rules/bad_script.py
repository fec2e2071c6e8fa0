"""TV217 bad-script."""

from collections.abc import Iterator

from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject
from tuvl.project.scripts import script_faults


class BadScript(FaultRule):
    """A scripted model has no replies: neither `script` nor `replies` is there, or the file cannot be used.

    The run would begin, do what comes before its first model call, and fail there.
    """

    code = "TV217"
    name = "bad-script"
    severity = Severity.ERROR

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at the script of a scripted model."""
        if subject.kind == "AgentModel":
            yield from self.report(script_faults(subject.document), subject)
