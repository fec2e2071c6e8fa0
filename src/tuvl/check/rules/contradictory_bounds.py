"""TV603 contradictory-bounds."""

from collections.abc import Iterator

from tuvl.analysis.bound_faults import contradictory_bounds
from tuvl.analysis.compaction_faults import compaction_faults
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class ContradictoryBounds(FaultRule):
    """Two bounds cannot both mean what they say.

    A margin of `conclude` as large as the iterations tells an agent to finish before it begins. Attempts that together
    take longer than the deadline around them are never all made, so that the last one, which was to save the call, is
    the one that is cut off. A limit of one message lets no request pass, and a list longer than `max_items`, or than
    `limits.max_steps` leaves steps for, is refused as a whole. Compaction without a window has nothing to keep to, and
    one whose `reserve` is as large as its window keeps no room for messages.
    """

    code = "TV603"
    name = "contradictory-bounds"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Compare the bounds of each step."""
        yield from self.report(contradictory_bounds(workflow, subject.project), subject)
        yield from self.report(compaction_faults(workflow, subject.project), subject)
