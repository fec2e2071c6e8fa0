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
    models: a JSON answer may set every key that its schema does not shut out. Values closed by their type (an enum, a
    number, a boolean, an anchored pattern) are clean, and so is a value that a router has compared. What stands in
    between is a guardrail that can refuse words (a mask or a bound on length refuses none), an approval that asks about
    every call, and a person on the way who has answered, be it inside of the workflow that the tool runs: what comes by
    `timeout`, `error` or `aborted` of a question has been seen by nobody; an approval that an expression decides bounds
    the amounts that it looks at, no words. An agent is never reported whose tools take but closed values, where a
    number that is no integer, such as an amount, must lie between a `minimum` and a `maximum`: it still chooses, among
    what the author has set. Nothing is closed by `parameters` that `arg_validation: none` does not look at, nor what
    comes under a name that they leave open. Nor is an agent reported whose reading tools send nothing but to this
    machine, or back to the host that the words came from.
    """

    code = "TV702"
    name = "untrusted-to-effect"
    severity = Severity.WARNING

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Follow untrusted text to the agents."""
        if subject.taint is not None:
            yield from self.report(untrusted_to_effects(subject.taint, subject.project), subject)
