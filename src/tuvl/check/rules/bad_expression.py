"""TV111 bad-expression."""

from collections.abc import Iterator

from tuvl.analysis.expression_faults import bad_expressions
from tuvl.analysis.pattern import pattern_problem
from tuvl.analysis.steps import WorkflowView, items, mapping
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class BadExpression(FaultRule):
    """A schedule, a dot path or a regular expression that cannot be used as such.

    A schedule that never fires and a path that never matches fail in silence. A regular expression that may take
    exponential time lets one hostile text stop a run, so only such are taken as can be matched in linear time: no
    look-around, no back-references.
    """

    code = "TV111"
    name = "bad-expression"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at the schedule and the dot paths."""
        yield from self.report(bad_expressions(workflow), subject)

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at the patterns of a guardrail."""
        if subject.kind != "Artifact":
            return
        spec = mapping(mapping(subject.document.data).get("spec"))
        for index, check in enumerate(items(spec.get("checks"))):
            for place, pattern in enumerate(items(mapping(check).get("patterns"))):
                problem = pattern_problem(pattern) if isinstance(pattern, str) else None
                if problem is not None:
                    path = ("spec", "checks", index, "patterns", place)
                    message = f"regular expression {pattern!r}: {problem}"
                    yield self.finding(subject, path, message, hint="it must be matched in linear time")
