"""TV403 no-tools."""

from collections.abc import Iterator

from tuvl.analysis.steps import StepView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject


class NoTools(Rule):
    """An autonomous agent has no tools.

    Without tools the loop has nothing to loop over: it is a completion with more to go wrong. Providers also refuse
    an empty list of tools.
    """

    code = "TV403"
    name = "no-tools"
    severity = Severity.ERROR

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look for tools."""
        if step.mode == "autonomous" and step.agent.get("tools", []) == []:
            given = "tools" in step.agent
            yield self.finding(
                subject,
                (*step.path, "agent", "tools") if given else (*step.path, "agent"),
                f"step {step.id!r} is autonomous and has no tools",
                hint="add `tools: [{ref: <step id>}]`, or use `mode: completion`",
                at_key=True,
            )
