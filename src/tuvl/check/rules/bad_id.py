"""TV108 bad-id."""

from collections.abc import Iterator

from tuvl.analysis.route_faults import reserved_ids
from tuvl.analysis.steps import WorkflowView
from tuvl.check.finding import Finding, Severity
from tuvl.check.reported import ShapeRule
from tuvl.check.rule import Subject


class BadId(ShapeRule):
    """An id or a name has characters, or a length, that its place does not allow.

    Ids become keys of the context, names of tools that a provider sees, parts of references and of file names; one
    that works here and not there would fail late, in the middle of a run.
    """

    code = "TV108"
    name = "bad-id"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look for a step that is called like the end of the run."""
        for fault in reserved_ids(workflow):
            yield self.finding(subject, fault.path, fault.message, hint=fault.hint)
