"""TV604 cost-ceiling."""

from collections.abc import Iterator
from dataclasses import replace

from tuvl.analysis.amount import Amount
from tuvl.analysis.envelope import Envelope
from tuvl.analysis.run_bounds import run_bounds
from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.values import KeyPath, number_text


class CostCeiling(Rule):
    """One run may cost more than it is meant to: more than `validate --max-cost-usd`, or than the run's own limit.

    With `--max-cost-usd` this is an error, and it is the proved worst case that must be within; what is unbounded or
    unknown is not. No comment and no setting of the project makes less of it: who runs the gate has set the limit, not
    who wrote the files. A limit in the file is held by the run itself, which then ends on the way, before it has done
    what it was started for; where already the expected worst case of its steps comes to more, this is a warning.
    """

    code = "TV604"
    name = "cost-ceiling"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Hold the worst case against both."""
        ceiling, bounds = subject.project.cost_ceiling_usd, run_bounds(workflow, subject.project)
        if ceiling is None and bounds.max_cost_usd is None:
            return
        found = subject.worst_case
        if ceiling is not None:
            yield from self._above_ceiling(found, ceiling, subject)
        if bounds.max_cost_usd is not None:
            yield from self._above_limit(found, bounds.max_cost_usd, bounds.max_cost_field, subject)

    def _above_ceiling(self, found: Envelope, ceiling: float, subject: Subject) -> Iterator[Finding]:
        proved, expected = found.proved.spend.cost_usd, found.expected.spend.cost_usd
        if not proved.exceeds(ceiling):
            return
        if proved.value is None:
            what = f"what a run of {found.workflow!r} may cost is {proved.state}"
            missing = proved.needs or proved.lacks
            why = f" ({missing[0]} would bound it)" if proved.needs else f" ({missing[0]} is not known)"
            message = f"{what}, so it is not within --max-cost-usd {number_text(ceiling)}{why}"
        else:
            about = "" if expected.value is None else f" (expected: {_dollars(expected.value)})"
            message = (
                f"a run of {found.workflow!r} may cost {_dollars(proved.value)}{about}, "
                f"above --max-cost-usd {number_text(ceiling)}"
            )
        yield replace(self.finding(subject, _place(subject), message, hint=_hint(proved)), asked=True)

    def _above_limit(self, found: Envelope, limit: float, field: str, subject: Subject) -> Iterator[Finding]:
        expected, proved = found.expected.unlimited.cost_usd, found.proved.unlimited.cost_usd
        if expected.value is None or expected.value <= limit:
            return
        most = "" if proved.value is None else f" (proved: at most {_dollars(proved.value)})"
        yield self.finding(
            subject,
            _place(subject),
            f"`{field}: {number_text(limit)}` may end a run of {found.workflow!r} on the way: "
            f"the worst case of its steps is {_dollars(expected.value)}{most}",
            hint="lower the bounds of its agents, or raise the limit; `tuvl bounds` shows what costs most",
            severity=Severity.WARNING,
        )


def _hint(proved: Amount) -> str:
    """Say what helps: no lower bound makes a cost known, nor is one that is missing lowered."""
    if proved.value is not None:
        return _LOWER
    if proved.needs:
        return "declare that bound; `tuvl bounds` shows all that has none"
    return _PRICE if any("price" in each for each in proved.lacks) else _FIND


_LOWER = "lower `max_iterations`, `token_budget` or `limits.max_context_bytes`; `tuvl bounds` shows what costs most"
_PRICE = "give the model a `price:` in its `kind: AgentModel`; `tuvl bounds` shows what is not known"
_FIND = "`tuvl bounds` shows what is not known"


def _place(subject: Subject) -> KeyPath:
    limits = mapping(mapping(mapping(subject.document.data).get("spec")).get("limits"))
    return ("spec", "limits", "max_cost_usd") if "max_cost_usd" in limits else ("metadata", "name")


def _dollars(value: float) -> str:
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}"
