"""TV404 tool-undescribed."""

from collections.abc import Iterator

from tuvl.analysis.agent_faults import undescribed_tools
from tuvl.analysis.steps import StepView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class ToolUndescribed(FaultRule):
    """A tool has a description neither on its step nor on its entry in `tools`.

    The description is all a model knows of a tool besides its name. Without one it guesses what the tool does and when
    to call it.
    """

    code = "TV404"
    name = "tool-undescribed"
    severity = Severity.ERROR

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look for descriptions."""
        return self.report(undescribed_tools(step, subject.graph.steps), subject)
