"""TV111 bad-expression."""

from collections.abc import Iterator

from tuvl.analysis.steps import StepView, WorkflowView, items, mapping
from tuvl.check.cron import cron_problem
from tuvl.check.dot_path import dot_path_problem
from tuvl.check.finding import Finding, Severity
from tuvl.check.pattern import pattern_problem
from tuvl.check.rule import Rule, Subject
from tuvl.values import KeyPath


class BadExpression(Rule):
    """A schedule, a dot path or a regular expression that cannot be used as such.

    A schedule that never fires and a path that never matches fail in silence. A regular expression that may take
    exponential time lets one hostile text stop a run, so only such are taken as can be matched in linear time: no
    look-around, no back-references.
    """

    code = "TV111"
    name = "bad-expression"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at the schedule and the output path."""
        schedule = mapping(workflow.spec.get("trigger")).get("schedule")
        if isinstance(schedule, str):
            problem = cron_problem(schedule)
            if problem is not None:
                message = f"schedule {schedule!r}: {problem}"
                hint = 'five fields: minute hour day month weekday, e.g. "*/15 * * * *"'
                yield self.finding(subject, ("spec", "trigger", "schedule"), message, hint=hint)
        yield from self._dot_path(workflow.spec.get("output"), ("spec", "output"), subject)

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at the dot paths of the step."""
        for path, value in _dot_paths(step):
            yield from self._dot_path(value, (*step.path, *path), subject)

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

    def _dot_path(self, value: object, path: KeyPath, subject: Subject) -> Iterator[Finding]:
        problem = dot_path_problem(value) if isinstance(value, str) else None
        if problem is not None:
            yield self.finding(subject, path, f"dot path {value!r}: {problem.message}", hint=problem.hint)


def _dot_paths(step: StepView) -> Iterator[tuple[KeyPath, object]]:
    match step.kind:
        case "Router":
            for form in ("condition", "match"):
                yield (form, "field"), mapping(step.data.get(form)).get("field")
        case "Response":
            yield ("source",), step.data.get("source")
            for name, value in mapping(step.data.get("mapping")).items():
                yield ("mapping", name), value
        case "APICall" | "MCP":
            extracts = items(mapping(step.data.get("response")).get("extract"))
            for index, entry in enumerate(extracts):
                yield ("response", "extract", index, "path"), mapping(entry).get("path")
