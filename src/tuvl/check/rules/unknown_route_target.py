"""TV201 unknown-route-target."""

from collections.abc import Iterator

from tuvl.analysis.route_faults import unknown_targets
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class UnknownRouteTarget(FaultRule):
    """A route leads to a step that is not in the workflow, and is not `END`.

    The run would stop with an engine error when it takes that route, which may be the rare one, long after the
    steps before it have done their work.
    """

    code = "TV201"
    name = "unknown-route-target"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at every route."""
        return self.report(unknown_targets(workflow), subject)
