"""TV705 write-unretriable."""

from collections.abc import Iterator

from tuvl.analysis.repetition import unrepeatable_writes
from tuvl.analysis.steps import StepView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class WriteUnretriable(FaultRule):
    """A write asks for retries, or stands in a durable workflow, without an `idempotency_key`.

    A lost reply does not say whether the server acted. The engine therefore sends a POST or PATCH without a key once,
    whatever `retry` says, and a durable run whose process was lost meanwhile asks a person what became of it. With a
    key the server can tell a repetition from a second order.
    """

    code = "TV705"
    name = "write-unretriable"
    severity = Severity.WARNING

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at a step that writes."""
        yield from self.report(unrepeatable_writes(step, subject.graph.workflow, subject.project), subject)
