"""TV309 router-gap."""

from collections.abc import Iterator

from tuvl.analysis.steps import StepView, items, mapping
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.spec.signals import DEFAULT


class RouterGap(Rule):
    """A router with `match` or `when` has no route for `default`.

    A value that no route names, or a case in which no expression is true, then falls through to whatever step comes
    next in the file. Last in `when`, a plain `{{ true }}` covers the rest; so do routes for all values that the field
    can have, by `spec.input` or by the steps that set it.
    """

    code = "TV309"
    name = "router-gap"
    severity = Severity.WARNING

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at a router's routes."""
        form = next((name for name in ("match", "when") if name in step.data), None)
        if step.kind != "Router" or form is None or DEFAULT in step.routes or step.id in subject.graph.off_spine:
            return
        if any(_always(mapping(case).get("if")) for case in items(step.data.get("when"))):
            return
        if subject.routers is not None and not subject.routers.may_be(step, DEFAULT):
            return
        follower = subject.graph.next_of(step.id)
        then = f"falls through to {follower!r}" if follower else "ends the run"
        routed = "routes" in step.data
        what = "a value that no route names" if form == "match" else "a context for which no case is true"
        yield self.finding(
            subject,
            (*step.path, "routes") if routed else (*step.path, "id"),
            f"router {step.id!r} has no route for 'default': {what} {then}",
            hint="add `default: <step id>` under `routes:`",
            at_key=routed,
        )


def _always(condition: object) -> bool:
    return condition is True or (isinstance(condition, str) and condition.strip("{} ").lower() == "true")
