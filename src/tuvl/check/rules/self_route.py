"""TV307 self-route."""

from collections.abc import Iterator

from tuvl.analysis.steps import StepView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.spec.signals import DEFAULT, ERROR


class SelfRoute(Rule):
    """A step routes its own `error` or `default` to itself.

    On `error` the step is tried again at once and without end, with the same input: what failed for good goes on
    failing until `max_steps`. On `default` a step that went well is simply run again.
    """

    code = "TV307"
    name = "self-route"
    severity = Severity.WARNING

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at two routes of the step."""
        if step.id in subject.graph.off_spine:
            return
        for signal in (ERROR, DEFAULT):
            if step.routes.get(signal) == step.id:
                yield self.finding(
                    subject,
                    (*step.path, "routes", signal),
                    f"step {step.id!r} routes its {signal!r} to itself",
                    hint="use `retry:` where the step has it, or lead to a step that decides whether to go on"
                    if signal == ERROR
                    else "lead to a step that decides whether to go on",
                )
