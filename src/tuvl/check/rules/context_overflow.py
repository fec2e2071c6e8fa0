"""TV606 context-overflow."""

from collections.abc import Iterator

from tuvl.analysis.context_overflow import overflow
from tuvl.analysis.steps import StepView
from tuvl.analysis.value_sizes import unknown_sizes
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject


class ContextOverflow(Rule):
    """The last request of an agent may be larger than its model's window, and nothing shortens it.

    A request that does not fit is refused by the provider: the agent ends on `error`, after all that it has done and
    paid for. The size is reckoned with about four characters a token, a context as full as it may be, and one tool call
    a turn unless the file permits more. A value that its type in `spec.input` bounds counts with what it can have: an
    enum, a number, a `maxLength`, and lists and objects of such.
    """

    code = "TV606"
    name = "context-overflow"
    severity = Severity.WARNING

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Compare the last request with the window."""
        longest = subject.sizes.at(step.id) if subject.sizes is not None else unknown_sizes
        found = overflow(step, subject.graph.workflow, subject.project, longest)
        if found is not None:
            yield self.finding(subject, found.path, found.message, hint=found.hint, at_key=found.at_key)
