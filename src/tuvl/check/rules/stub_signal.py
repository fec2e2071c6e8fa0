"""TV222 stub-signal."""

from collections.abc import Iterator

from tuvl.analysis.steps import mapping
from tuvl.analysis.stub_signals import impossible_stub_signals
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class StubSignal(FaultRule):
    """A stub of a scenario returns a signal that its step can never return.

    The scenario tests a way that no run takes. After an outcome was renamed it goes on passing, or fails for a reason
    of its own, and proves nothing either way. A stub without `signal` returns `default`, or `error` with an `error`; an
    agent with outcomes never returns `default`.
    """

    code = "TV222"
    name = "stub-signal"
    severity = Severity.ERROR

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Hold the signals of stubs against those of steps."""
        if subject.kind == "WorkflowTest":
            yield from self.report(impossible_stub_signals(mapping(subject.document.data), subject.project), subject)
