"""TV502 overwritten-unread."""

from collections.abc import Iterator

from tuvl.analysis.dead_writes import dead_writes
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class OverwrittenUnread(FaultRule):
    """A step writes a key that another overwrites before anything can have read it.

    The work was for nothing, or two steps share a name by mistake and one of them loses its result. Reads of every
    kind count: templates, routers, what a node declares, the context block of an agent. Ways that end in a failure are
    left out.
    """

    code = "TV502"
    name = "overwritten-unread"
    severity = Severity.NOTE

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at every write."""
        if subject.keys is not None:
            yield from self.report(dead_writes(subject.keys, subject.project), subject)
