"""TV710 untrusted-instruction."""

from collections.abc import Iterator

from tuvl.analysis.agent_dangers import untrusted_instructions
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class UntrustedInstruction(FaultRule):
    """A template puts untrusted text into the instructions of an agent: `system`, `steering` or `skills`.

    A model obeys its instructions before anything else, and they are the one place where a stranger's words must never
    stand. `context_injection` hands a value over as marked, untrusted content. Values closed by their type may be
    rendered, and so may what only decides a condition. A value keeps its type as the item of a ForEach and in a copy
    that is nothing else; it loses it where a JSON answer may overwrite its key, which `additionalProperties: false` in
    `outcome.schema` rules out. `_last_error` and its detail are untrusted after a step that quotes what it was sent:
    a call of an API or of a server, an agent that answers outside of what it declares. It is a warning for what an
    input may bring that `spec.input` does not name, so that nobody knows what the value can be.
    """

    code = "TV710"
    name = "untrusted-instruction"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at what instructions show."""
        if subject.taint is None:
            return
        yield from self.report(untrusted_instructions(subject.taint, certain=True), subject)
        for fault in untrusted_instructions(subject.taint, certain=False):
            yield self.finding(subject, fault.path, fault.message, hint=fault.hint, severity=Severity.WARNING)
