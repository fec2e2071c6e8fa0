"""TV301 unreachable-step."""

from collections.abc import Iterator
from dataclasses import replace

from tuvl.analysis.route_faults import no_beginning
from tuvl.analysis.steps import WorkflowView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject


class UnreachableStep(Rule):
    """No run can come to a step: nothing leads there from the entry, by route or fall-through, and it is no tool.

    Dead steps are read, maintained and trusted as if they ran. Often one is the sign of a route that was forgotten. A
    workflow without any first step, since all are only referred to by others, is an error.
    """

    code = "TV301"
    name = "unreachable-step"
    severity = Severity.WARNING

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Compare the spine with what the entry leads to."""
        graph = subject.graph
        for fault in no_beginning(graph):
            found = self.finding(
                subject, fault.path, fault.message, hint=fault.hint, at_key=fault.at_key, severity=Severity.ERROR
            )
            yield replace(found, final=True)
        for step in graph.spine:
            if step not in graph.reachable:
                yield self.finding(
                    subject,
                    (*graph.steps[step].path, "id"),
                    f"no run comes to step {step!r}",
                    hint=f"route a signal to {step!r}, use it as a tool, or remove it",
                )
