"""TV706 fail-open-judge."""

from collections.abc import Iterator

from tuvl.analysis.agent_dangers import fail_open_gates
from tuvl.analysis.steps import StepView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class FailOpenJudge(FaultRule):
    """The only gate before an agent that can act is a judge that lets everything pass when it cannot be asked.

    `on_judge_error: ignore` is what a judge does unless told otherwise. An outage of its model, or enough text to make
    it time out, then opens the gate. A second check that needs no model, or `violation`, keeps it closed.
    """

    code = "TV706"
    name = "fail-open-judge"
    severity = Severity.WARNING

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at the guardrails of the agent."""
        yield from self.report(fail_open_gates(step, subject.graph.workflow, subject.project), subject)
