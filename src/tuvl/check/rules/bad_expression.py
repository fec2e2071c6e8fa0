"""TV111 bad-expression."""

from collections.abc import Iterator

from tuvl.analysis.expression_faults import bad_expressions
from tuvl.analysis.header_faults import refused_server_headers
from tuvl.analysis.pattern import pattern_problem
from tuvl.analysis.steps import WorkflowView, items, mapping
from tuvl.analysis.url_faults import unusable_server
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class BadExpression(FaultRule):
    """A trigger, a dot path, a condition, a URL, a header or a regular expression that cannot be used as such.

    A trigger starts nothing when its schedule never fires, its time zone is not there or no request can have its path,
    and a dot path that never matches finds nothing: all that in silence. A URL that is relative, or has a space in it,
    is never called, and no call is made with a header of its own that is the client's: `Host`, by which a call would go
    to another host than the policy judges, and those that say where a request ends. A condition without its braces is a
    text, neither true nor false. A regular expression that may take exponential time lets one hostile text stop a run,
    so only such are taken as can be matched in linear time: no look-around, no back-references.
    """

    code = "TV111"
    name = "bad-expression"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at the trigger, the dot paths, the conditions, the URLs and the headers."""
        yield from self.report(bad_expressions(workflow), subject)

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at the patterns of a guardrail, and at the URL and the headers of an MCP server."""
        if subject.kind != "Artifact":
            return
        yield from self.report(unusable_server(mapping(subject.document.data)), subject)
        yield from self.report(refused_server_headers(mapping(subject.document.data)), subject)
        spec = mapping(mapping(subject.document.data).get("spec"))
        for index, check in enumerate(items(spec.get("checks"))):
            for place, pattern in enumerate(items(mapping(check).get("patterns"))):
                problem = pattern_problem(pattern) if isinstance(pattern, str) else None
                if problem is not None:
                    path = ("spec", "checks", index, "patterns", place)
                    message = f"regular expression {pattern!r}: {problem}"
                    yield self.finding(subject, path, message, hint="it must be matched in linear time")
