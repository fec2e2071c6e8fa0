"""TV209 hook-target."""

from collections.abc import Iterator

from tuvl.analysis.reference_faults import bad_hook_targets
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class HookTarget(FaultRule):
    """A hook with `action: notify` is attached where its `target` is no APICall step.

    Hooks only observe: their failures are logged and swallowed. A notification that cannot be sent would be missed
    for as long as nobody reads the log.
    """

    code = "TV209"
    name = "hook-target"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at the targets of the attached hooks."""
        return self.report(bad_hook_targets(workflow, subject.graph.references), subject)
