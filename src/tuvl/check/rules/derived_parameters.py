"""TV409 derived-parameters."""

from collections.abc import Iterator

from tuvl.analysis.parameters import tool_uses
from tuvl.analysis.steps import StepView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.values import dump_json, shorten


class DerivedParameters(Rule):
    """A tool declares no `parameters`; the schema offered to the model is derived from its step.

    A derived schema names what the step's templates want, without types or meaning. Models call tools better, and wrong
    arguments are refused sooner, when `parameters` says what each one is.
    """

    code = "TV409"
    name = "derived-parameters"
    severity = Severity.NOTE

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look for tools without parameters."""
        for use in tool_uses(step, subject.graph.workflow):
            if "parameters" not in use.entry:
                yield self.finding(
                    subject,
                    (*use.path, "ref"),
                    f"tool {use.ref!r} declares no parameters; the model is offered "
                    f"{shorten(dump_json(use.parameters), 300)}",
                    hint="declare `parameters:` with a type and a description for each argument",
                )
