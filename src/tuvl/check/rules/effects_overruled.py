"""TV713 effects-overruled."""

from collections.abc import Iterator

from tuvl.analysis.agent_dangers import overruled_effects
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class EffectsOverruled(FaultRule):
    """A tool of an agent declares `effects: read`, and plainly writes; approvals and checks take it for a write.

    A label cannot take a write out of the project's `policy.require_approval`: a call with a method other than GET,
    HEAD and OPTIONS, a record that is created, updated or deleted, a node that declares `effects="write"`, and a
    workflow or a ForEach that runs such a step. TV702 and TV709 judge by the same. Of an MCP tool, and of a node that
    does not say, what is declared is believed: nothing else is known of them. The label still says that the call may
    be made again after a lost process, and beside others.
    """

    code = "TV713"
    name = "effects-overruled"
    severity = Severity.NOTE

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at the tools of the agents."""
        yield from self.report(overruled_effects(workflow, subject.project), subject)
