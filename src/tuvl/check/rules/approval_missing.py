"""TV709 approval-missing."""

from collections.abc import Iterator

from tuvl.analysis.agent_dangers import missing_approvals
from tuvl.analysis.steps import StepView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class ApprovalMissing(FaultRule):
    """An agent may call a step that is marked `danger: true`, or run one in another workflow, and no person is asked.

    The mark says that this write should never run unapproved, and on the spine a route decides about it. In the loop
    the model does, unless the entry of the tool has an `approval`, or the project's policy asks for one. An expression
    that is false whatever the arguments are, by what `parameters` says of them, asks nobody. Of a workflow that a tool
    runs every way counts on which nobody has answered a HumanInTheLoop step before: also the one by which a question
    leaves that nobody answers in time (`timeout`), that cannot be asked (`error`) or that is cut off (`aborted`). A
    workflow inside has asked where it cannot come to its end otherwise; an agent never has, since it may make no call.
    """

    code = "TV709"
    name = "approval-missing"
    severity = Severity.WARNING

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at the tools of the agent."""
        yield from self.report(missing_approvals(step, subject.graph.workflow, subject.project), subject)
