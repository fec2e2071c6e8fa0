"""TV412 judge-unused."""

from collections.abc import Iterator

from tuvl.analysis.steps import StepView, WorkflowView, items, mapping
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject

_BUDGETS = ("token_budget", "cost_budget_usd")
_RUN_BUDGETS = ("max_tokens", "max_cost_usd")


class JudgeUnused(Rule):
    """A supervisor's judge has a `model` without `criteria` or the reverse, or a rule waits for a budget nobody has.

    A judge without one of the two never judges, and a fraction of no budget is never reached. Both look like a safety
    net in the file and are none.
    """

    code = "TV412"
    name = "judge-unused"
    severity = Severity.WARNING

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at the supervisor."""
        supervisor = mapping(workflow.spec.get("supervisor"))
        path = ("spec", "supervisor")
        if isinstance(supervisor.get("judge"), dict):
            yield from self._judge(mapping(supervisor["judge"]), subject)
        if _has_budget(workflow, supervisor.get("watches")):
            return
        for index, rule in enumerate(items(supervisor.get("rules"))):
            if mapping(rule).get("when") == "budget_fraction":
                yield self.finding(
                    subject,
                    (*path, "rules", index, "when"),
                    "this rule waits for a fraction of a budget, but no watched agent has a budget",
                    hint="give a watched agent a `token_budget` or `cost_budget_usd`, or remove the rule",
                )

    def _judge(self, judge: object, subject: Subject) -> Iterator[Finding]:
        given = {name for name in ("model", "criteria") if mapping(judge).get(name) is not None}
        if given == {"model", "criteria"}:
            return
        missing = " and ".join(f"`{name}`" for name in ("model", "criteria") if name not in given)
        yield self.finding(
            subject,
            ("spec", "supervisor", "judge", *sorted(given)),
            f"the supervisor's judge has no {missing}, so it never judges",
            hint=f"add {missing}, or remove the judge",
            at_key=True,
        )


def _has_budget(workflow: WorkflowView, watches: object) -> bool:
    limits = mapping(workflow.spec.get("limits"))
    watched: list[StepView] = [
        workflow.by_id[name] for name in items(watches) if isinstance(name, str) and name in workflow.by_id
    ]
    return any(limits.get(name) is not None for name in _RUN_BUDGETS) or any(
        step.agent.get(name) is not None for step in watched for name in _BUDGETS
    )
