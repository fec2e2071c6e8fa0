"""TV702 untrusted-to-effect."""

from collections.abc import Iterator

from tuvl.analysis.agent_dangers import untrusted_to_effects
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class UntrustedToEffect(FaultRule):
    """Untrusted text reaches an agent that can act on it unasked: a tool of it writes, or sends out its own words.

    A model cannot tell an order from a quotation. Who writes the ticket, the web page or the reply of the API then
    decides what the tool is called with. A call that only reads can do harm too: a path or a query in the model's own
    words carries out whatever it has seen. Untrusted are the input, replies of APIs and MCP servers, and answers of
    models; values closed by their type (an enum, a number, a boolean, an anchored pattern) are clean, and so is a
    value that a router has compared. A guardrail, an approval and a person on the way stand in between. An agent is
    never reported whose tools take but closed values, where a number that is no integer, such as an amount, must lie
    between a `minimum` and a `maximum`: it still chooses, among what the author has set. Nor is one whose reading tools
    send nothing but to this machine, or back to the host that the words came from.
    """

    code = "TV702"
    name = "untrusted-to-effect"
    severity = Severity.WARNING

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Follow untrusted text to the agents."""
        if subject.taint is not None:
            yield from self.report(untrusted_to_effects(subject.taint, subject.project), subject)
