"""TV410 tool-name-provider."""

from collections.abc import Iterator

from tuvl.analysis.agent_faults import refused_tool_names
from tuvl.analysis.steps import StepView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class ToolNameProvider(FaultRule):
    """A tool has a name that model providers refuse, or two tools have one name.

    The name of a tool is the id of its step. Providers take 1 to 64 letters, digits, `_` and `-`, each name once, and
    answer anything else with an error that does not say which tool it means.
    """

    code = "TV410"
    name = "tool-name-provider"
    severity = Severity.ERROR

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at the names of the tools."""
        return self.report(refused_tool_names(step, subject.graph.steps), subject)
