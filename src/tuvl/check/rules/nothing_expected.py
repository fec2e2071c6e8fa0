"""TV221 nothing-expected."""

from collections.abc import Iterator

from tuvl.analysis.steps import mapping
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject


class NothingExpected(Rule):
    """A scenario expects nothing: `expect:` is an empty mapping.

    It passes whatever the workflow does, as long as every step that reaches outside has a stub: a run that fails
    passes as well. Whoever reads the report takes it for a proof.
    """

    code = "TV221"
    name = "nothing-expected"
    severity = Severity.WARNING

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at what a scenario expects."""
        spec = mapping(mapping(subject.document.data).get("spec"))
        if subject.kind == "WorkflowTest" and spec.get("expect") == {}:
            message = "this scenario expects nothing, so that it passes however its run ends"
            hint = "say at least how it ends: `expect: { status: completed }`"
            yield self.finding(subject, ("spec", "expect"), message, hint=hint)
