"""TV708 public-trigger."""

from collections.abc import Iterator

from tuvl.analysis.public_rights import public_rights
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class PublicTrigger(FaultRule):
    """A trigger is `public: true`, and the workflow, or a step of it, asks its caller for a scope or a group.

    A call without a token has neither, so that every public call is refused; or, read the other way, a workflow that
    was meant to be guarded is offered to everybody. One of the two is a mistake. Steps ask by `auth`, by the rights of
    a data model, and by those of the workflow they run. It is a warning where only some ways lead to such a step; a
    step that routes its `error` has said what a call without the right comes to.
    """

    code = "TV708"
    name = "public-trigger"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Hold the trigger against the rights."""
        yield from self.report(public_rights(subject.graph, subject.project, certain=True), subject)
        for fault in public_rights(subject.graph, subject.project, certain=False):
            yield self.finding(subject, fault.path, fault.message, hint=fault.hint, severity=Severity.WARNING)
