"""TV308 tool-on-spine."""

from collections.abc import Iterator

from tuvl.analysis.steps import WorkflowView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject


class ToolOnSpine(Rule):
    """A step is an agent's tool and also the target of a route.

    As a tool it gets arguments from a model; by a route it runs without them, on the bare context, and its templates
    may find nothing. It also stands in the fall-through of the steps around it, which a tool normally does not.
    """

    code = "TV308"
    name = "tool-on-spine"
    severity = Severity.WARNING

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Compare the tools with the targets of routes."""
        owners = {each.target: each.owner for each in reversed(subject.graph.references) if each.role == "tool"}
        if not owners:
            return
        for step in workflow.steps:
            for signal, target in step.routes.items():
                owner = owners.pop(target, None)
                if owner is not None and target in workflow.by_id:
                    yield self.finding(
                        subject,
                        (*step.path, "routes", signal),
                        f"step {target!r} is a tool of {owner!r} and also the target of this route",
                        hint="make a step of its own for one of the two uses",
                    )
