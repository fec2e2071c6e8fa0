"""TV219 beyond-policy."""

from collections.abc import Iterator

from tuvl.analysis.policy_faults import policy_faults, scenario_policy_faults
from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class BeyondPolicy(FaultRule):
    """A workflow calls a model, or a host, that the policy of the project does not allow.

    `policy.allow_models` and `policy.allow_hosts` of `tuvl.yaml` hold for every workflow of the project: for agents,
    judges, summaries and supervisors, for HTTP calls, MCP servers and the addresses that language models name. What
    goes beyond them does not run. A host that comes from a template or a variable is judged when it is called. Models
    that `--model` names are held against the policy too, by the run itself.
    """

    code = "TV219"
    name = "beyond-policy"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Hold what is called against the policy."""
        yield from self.report(policy_faults(workflow, subject.project), subject)

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Hold the judges of a scenario against the policy."""
        if subject.kind == "WorkflowTest":
            yield from self.report(scenario_policy_faults(mapping(subject.document.data), subject.project), subject)
