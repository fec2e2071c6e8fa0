"""TV405 steering-missing."""

from collections.abc import Iterator

from tuvl.analysis.steps import StepView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject


class SteeringMissing(Rule):
    """An autonomous agent has no steering.

    It then knows its tools and the context, but not what it is there for, what it must not do, and when it is done.
    """

    code = "TV405"
    name = "steering-missing"
    severity = Severity.WARNING

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look for steering."""
        steering = step.agent.get("steering")
        if step.mode == "autonomous" and (steering is None or (isinstance(steering, str) and not steering.strip())):
            yield self.finding(
                subject,
                (*step.path, "agent"),
                f"step {step.id!r} is autonomous and has no steering",
                hint="add `steering:`: its task, its limits and when it is done, as text or `artifact://<name>@<version>`",
                at_key=True,
            )
