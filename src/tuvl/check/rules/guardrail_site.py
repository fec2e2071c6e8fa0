"""TV407 guardrail-site."""

from collections.abc import Iterator

from tuvl.analysis.agent_faults import bad_guardrails
from tuvl.analysis.steps import StepView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class GuardrailSite(FaultRule):
    """Guardrails stand at a site that is none, `tools` on a completion, or are no artifact references.

    Sites are `input`, `tools` and `output`. A guardrail at a place where nothing passes guards nothing, and looks as
    if it did.
    """

    code = "TV407"
    name = "guardrail-site"
    severity = Severity.ERROR

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at the guardrails."""
        return self.report(bad_guardrails(step), subject)
