"""TV110 bad-schema."""

from collections.abc import Iterator

from tuvl.analysis.steps import StepView, WorkflowView, items, mapping
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.check.schema_reading import read_schema
from tuvl.tools.schema import schema_problem
from tuvl.values import KeyPath


class BadSchema(Rule):
    """A JSON Schema in the file is not a valid one, or has a keyword that is misspelt.

    A schema that cannot be compiled stops the run before it starts; a misspelt keyword is worse, since JSON Schema
    ignores it: the values it was to keep out come in.
    """

    code = "TV110"
    name = "bad-schema"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at the schema of the input."""
        yield from self._schema(workflow.spec.get("input"), ("spec", "input"), subject)

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at the schemas of the result and of the tools."""
        path = (*step.path, "agent")
        yield from self._schema(mapping(step.agent.get("outcome")).get("schema"), (*path, "outcome", "schema"), subject)
        for index, entry in enumerate(items(step.agent.get("tools"))):
            place = (*path, "tools", index, "parameters")
            yield from self._schema(mapping(entry).get("parameters"), place, subject)

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at the schemas of a guardrail."""
        if subject.kind != "Artifact":
            return
        spec = mapping(mapping(subject.document.data).get("spec"))
        for index, check in enumerate(items(spec.get("checks"))):
            yield from self._schema(mapping(check).get("schema"), ("spec", "checks", index, "schema"), subject)

    def _schema(self, schema: object, path: KeyPath, subject: Subject) -> Iterator[Finding]:
        if not isinstance(schema, dict):
            return  # absent, or of a wrong type, which the shape check says
        reading = read_schema(schema)
        for problem in reading.problems:
            yield self.finding(
                subject,
                (*path, *problem.path),
                problem.message,
                hint=problem.hint,
                at_key=problem.at_key,
                severity=Severity.WARNING if problem.only_ignored else None,
            )
        if reading.certain or any(not problem.only_ignored for problem in reading.problems):
            return
        message = schema_problem(schema)
        if message is not None:
            yield self.finding(subject, path, f"no valid JSON Schema: {message}", hint="the dialect is 2020-12")
