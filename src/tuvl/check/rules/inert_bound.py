"""TV602 inert-bound."""

from collections.abc import Iterator

from tuvl.analysis.envelope import agent_envelope
from tuvl.analysis.inert_bounds import LEAVE_OUT, InertBounds, late_deadlines
from tuvl.analysis.language_models import positive, whole
from tuvl.analysis.measure import EXPECTED, PROVED
from tuvl.analysis.run_bounds import RunBounds, run_bounds
from tuvl.analysis.run_paths import runs_all
from tuvl.analysis.steps import StepView, WorkflowView, mapping
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.values import number_text


class InertBound(Rule):
    """A bound can never be reached, since another one is reached before it or all turns use less; or it is, at once.

    Who reads the file takes it for what holds the agent, and it holds nothing. A budget below the size of one request
    stops every run after its first call, which is never what was meant.
    """

    code = "TV602"
    name = "inert-bound"
    severity = Severity.WARNING

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Compare the bounds of an agent."""
        if step.mode != "autonomous":
            return
        workflow, project = subject.graph.workflow, subject.project
        bounds = InertBounds(
            step=step,
            proved=agent_envelope(step, workflow, project, PROVED),
            expected=agent_envelope(step, workflow, project, EXPECTED),
            run=run_bounds(workflow, project),
        )
        needed = _needed(step, bounds.run) if project.strict else ()
        for fault in bounds.found():
            hint = "lower it" if fault.path[-1] in needed and fault.hint == LEAVE_OUT else fault.hint
            yield self.finding(subject, fault.path, fault.message, hint=hint)

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Compare deadlines, and the bound of a list with how many steps the run may take."""
        for fault in late_deadlines(step, run_bounds(subject.graph.workflow, subject.project)):
            yield self.finding(subject, fault.path, fault.message, hint=fault.hint)
        most = whole(step.data.get("max_items"))
        if step.kind != "ForEach" or most is None:
            return
        steps = run_bounds(subject.graph.workflow, subject.project).max_steps
        if most >= steps:
            message = (
                f"`max_items: {number_text(step.data['max_items'])}` of step {step.id!r} is never reached:"
                f" each item is a step, and `limits.max_steps: {number_text(steps)}` ends the run before"
            )
            yield self.finding(subject, (*step.path, "max_items"), message, hint="lower it, or raise `max_steps`")

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Compare the limits of the run with what its steps use."""
        limits = mapping(workflow.spec.get("limits"))
        tokens, cost = whole(limits.get("max_tokens")), positive(limits.get("max_cost_usd"))
        # What nothing leads to, for want of a route perhaps, is not reckoned with: then nothing is said.
        if (tokens is None and cost is None) or not runs_all(subject.graph):
            return
        steps = subject.worst_case.proved.unlimited
        most, dearest = steps.total_tokens.value, steps.cost_usd.value
        hint = "lower it, or leave it out"
        if tokens is not None and most is not None and tokens > most:
            why = f"is never reached: all steps together use {most:,.0f} tokens at most"
            message = f"`limits.max_tokens: {number_text(limits['max_tokens'])}` {why}"
            yield self.finding(subject, ("spec", "limits", "max_tokens"), message, hint=hint)
        if cost is not None and dearest is not None and cost > dearest:
            why = f"is never reached: all steps together cost ${dearest:.4g} at most"
            message = f"`limits.max_cost_usd: {number_text(limits['max_cost_usd'])}` {why}"
            yield self.finding(subject, ("spec", "limits", "max_cost_usd"), message, hint=hint)


def _needed(step: StepView, run: RunBounds) -> list[str]:
    """Bounds that a strict check asks for where neither the run nor the step has one of that kind (TV601)."""
    around = {
        "token_budget": run.max_tokens,
        "cost_budget_usd": run.max_cost_usd,
        "max_wall_clock_s": run.timeout_s or step.data.get("timeout_s"),
    }
    return [field for field, bound in around.items() if bound is None]
