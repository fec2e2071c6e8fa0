"""TV707 ungated-results."""

from collections.abc import Iterator

from tuvl.analysis.agent_dangers import ungated_results
from tuvl.analysis.steps import StepView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class UngatedResults(FaultRule):
    """An agent reads the replies of APIs or MCP servers, and no guardrail at `tools` that can refuse them looks first.

    It is a list of what is not covered. A reply can hold what a stranger wrote, and the model reads it as part of its
    work; whether that matters depends on who can write there, and on what the agent can do.
    """

    code = "TV707"
    name = "ungated-results"
    severity = Severity.NOTE

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at the tools of the agent."""
        yield from self.report(ungated_results(step, subject.graph.workflow, subject.project), subject)
