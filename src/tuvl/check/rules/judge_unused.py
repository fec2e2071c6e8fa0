"""TV412 judge-unused."""

from collections.abc import Iterator

from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.analysis.supervision import silent_rules, supervisor_of
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class JudgeUnused(FaultRule):
    """A part of a supervisor can never do anything: a judge that is not whole, or a rule that cannot come to speak.

    A judge without `model` or `criteria` never judges, and one that looks after more turns than there are is never
    asked. A rule never speaks that waits for more iterations than `max_iterations`, more calls than `max_tool_calls`,
    a fraction of a budget nobody has, or calls of a tool that no watched agent has. All of them look like a safety net
    in the file and are none.
    """

    code = "TV412"
    name = "judge-unused"
    severity = Severity.WARNING

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at the supervisor."""
        judge = supervisor_of(workflow).get("judge")
        if isinstance(judge, dict):
            yield from self._judge(judge, subject)
        yield from self.report(silent_rules(workflow, subject.project), subject)

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
