"""TV109 bad-template."""

from collections.abc import Iterator

from tuvl.analysis.steps import StepView
from tuvl.analysis.templates import bad_templates
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.source.place import Range
from tuvl.templating.scan import scan


class BadTemplate(Rule):
    """A template does not parse, or wants what the sandbox does not give.

    That is a call, an attribute, an include, an import or an unknown filter.

    It would fail when its step runs, after everything before it has been done and paid for. Templates read data and
    shape text; anything more belongs into a node.
    """

    code = "TV109"
    name = "bad-template"
    severity = Severity.ERROR

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at every rendered text of the step."""
        for fault in bad_templates(step):
            yield self.finding(subject, fault.path, fault.message, hint=_hint(fault.message))

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at the body of a markdown artifact that says it is a template."""
        prose = subject.loaded.prose if subject.loaded is not None else None
        if prose is None or prose.document is not subject.document or not isinstance(subject.document.data, dict):
            return
        if subject.document.data.get("template") is not True:
            return
        for problem in scan(prose.body).problems:
            place = Range.at(prose.body_line, 1)
            yield self.finding_at(subject.document.file, place, f"template in the body: {problem}", hint=_hint(problem))


def _hint(problem: str) -> str | None:
    if ";" in problem:
        return None  # it says itself what to do
    if "parse" in problem:
        return "a template is `{{ name }}`, `{{ name.key }}` or `{{ name | filter }}`"
    return "a template reads data and applies filters; anything more belongs into a node"
