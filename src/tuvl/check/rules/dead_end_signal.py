"""TV306 dead-end-signal."""

from collections.abc import Iterator

from tuvl.analysis.route_faults import dead_ends
from tuvl.analysis.steps import StepView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class DeadEndSignal(FaultRule):
    """A router, a node or a question can return a signal that `routes:` does not map.

    Only `default` falls through, and only `error` and `aborted` end a run cleanly. Any other unmapped signal makes the
    run fail with an engine error. Reported are a router's `true`, `false` and `when` signals, the signals a node
    declares, and the `timeout` and choices of a HumanInTheLoop step.
    """

    code = "TV306"
    name = "dead-end-signal"
    severity = Severity.ERROR

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Hold the signals of the step against its routes."""
        return self.report(dead_ends(step, subject.graph, subject.project), subject)
