"""TV207 unknown-node."""

from collections.abc import Iterator

from tuvl.analysis.reference_faults import unknown_nodes
from tuvl.analysis.steps import StepView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class UnknownNode(FaultRule):
    """`runner:` names no node that the files of the nodes folder declare, and no built-in one.

    The files are read, not imported: a node is known when a function has `@node("name")` with a literal name. A step
    without its node fails as soon as the run comes to it.
    """

    code = "TV207"
    name = "unknown-node"
    severity = Severity.ERROR

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look up the node of a Functional step."""
        return self.report(unknown_nodes(step, subject.project), subject)
