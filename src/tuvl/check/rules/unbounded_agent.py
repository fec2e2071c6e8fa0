"""TV601 unbounded-agent."""

from collections.abc import Iterator

from tuvl.analysis.envelope import agent_envelope
from tuvl.analysis.measure import EXPECTED
from tuvl.analysis.run_bounds import run_bounds
from tuvl.analysis.steps import StepView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject

_OF_AGENT = ("token_budget", "cost_budget_usd", "max_wall_clock_s")


class UnboundedAgent(Rule):
    """Neither the agent nor the run bounds the tokens, the dollars or the time of an autonomous agent.

    `max_iterations` counts turns, and one turn can cost a window full of tokens. Until they are used up, an agent that
    goes in circles is stopped by nothing. Any one of the three bounds will do; `tuvl bounds` says what they come to.
    """

    code = "TV601"
    name = "unbounded-agent"
    severity = Severity.WARNING

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look for a bound."""
        workflow = subject.graph.workflow
        bounds = run_bounds(workflow, subject.project)
        of_run = (bounds.max_tokens, bounds.max_cost_usd, bounds.timeout_s, step.data.get("timeout_s"))
        own = (step.agent.get(name) for name in _OF_AGENT)
        if step.mode != "autonomous" or any(bound is not None for bound in (*of_run, *own)):
            return
        agent = agent_envelope(step, workflow, subject.project, EXPECTED)
        iterations, tokens = agent.fields.iterations, agent.unbudgeted.total_tokens.value
        used = "and nothing says how many tokens" if tokens is None else f"which may use about {tokens:,.0f} tokens"
        yield self.finding(
            subject,
            (*step.path, "agent", "max_iterations") if "max_iterations" in step.agent else (*step.path, "agent"),
            f"only its {iterations} iterations bound step {step.id!r}, {used}"
            + (" they may use" if tokens is None else ""),
            hint="give it a `token_budget`, `cost_budget_usd` or `max_wall_clock_s`, or the workflow `limits:`",
            at_key=True,
        )
