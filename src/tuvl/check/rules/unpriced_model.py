"""TV605 unpriced-model."""

from collections.abc import Iterator

from tuvl.analysis.bound_faults import unpriced_models
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class UnpricedModel(FaultRule):
    """Dollars are bounded, and an agent, a judge or a summary calls a model whose price nobody knows.

    What has no price adds nothing to the sum, so the bound could never be reached: it would look like a safety net and
    be none. The price comes from the AgentModel, else from LiteLLM's table, else it is unknown, and never zero.
    """

    code = "TV605"
    name = "unpriced-model"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look up the models behind each bound on dollars."""
        yield from self.report(unpriced_models(workflow, subject.project), subject)
