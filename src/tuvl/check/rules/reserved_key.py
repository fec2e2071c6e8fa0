"""TV504 reserved-key."""

from collections.abc import Iterator

from tuvl.analysis.reserved_keys import reserved_keys
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class ReservedKey(FaultRule):
    """Something would set a context key, or pass an argument, with a leading `_`.

    Those keys belong to the engine (`_last_error`, `_api_status_code`). An input with one is refused, a step that
    writes one fails, and a model's call with one is turned down, each time.
    """

    code = "TV504"
    name = "reserved-key"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at every name that is set."""
        yield from self.report(reserved_keys(workflow, subject.project), subject)
