"""What each check of an agent's guardrails sees masked: by the checks before it, in the order in which they look."""

from collections.abc import Iterator

from tuvl.analysis.judges import guard_checks
from tuvl.analysis.steps import StepView, items
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.findings import Findings, Spot
from tuvl.dataclass import dataclass
from tuvl.values import canonical

SITES = ("input", "tools", "output")
_BY_DATA_MODELS = "secure fields"


@dataclass(frozen=True, slots=True)
class _Check:
    kind: str
    text: str
    """All that it says."""
    masked: frozenset[str]
    """Fields that the checks before it mask."""
    later: frozenset[str]
    """Fields that only checks after it mask."""


def compare_guard_order(
    findings: Findings, facts: tuple[WorkflowFacts, WorkflowFacts], before: StepView, after: StepView, spot: Spot
) -> None:
    """Tell of checks that see unmasked what was masked, or masked what they were to look at."""
    place = spot.at("agent", label="").at("guardrails")
    for site in SITES:
        old, new = (list(_checks(facts[side], step, site)) for side, step in enumerate((before, after)))
        left = list(old)
        pairs = [(_taken(left, check, same=True), check) for check in new]
        pairs = [(_taken(left, check, same=False) if was is None else was, check) for was, check in pairs]
        for was, now in pairs:
            said = _said(was, now)
            if said is not None:
                what, may = said
                findings.say("guardrail-weakened", f"guardrails.{site}: {what}", place.at(site), may=may)


def _said(was: _Check | None, now: _Check) -> tuple[str, bool] | None:
    """What is to be said of one check, and whether it only may let more pass."""
    judges = now.kind == "llm_judge"
    bare = now.later if was is None else (was.masked - now.masked) & now.later
    if judges and bare:
        return f"the judge is shown what is masked only after it ({', '.join(sorted(bare))})", False
    hidden = now.masked - was.masked if was is not None else frozenset()
    if hidden & (was.later if was is not None else frozenset()) and now.kind != "max_chars":
        return f"{now.kind} looks at what was masked before it now ({', '.join(sorted(hidden))})", True
    return None


def _taken(left: list[_Check], check: _Check, *, same: bool) -> _Check | None:
    for each in left:
        if each.kind == check.kind and (each.text == check.text or not same):
            left.remove(each)
            return each
    return None


def _checks(facts: WorkflowFacts, step: StepView, site: str) -> Iterator[_Check]:
    found = list(guard_checks(step, site, facts.index))
    masks = [_masked(check) for check in found]
    for number, check in enumerate(found):
        before = frozenset[str]().union(*masks[:number])
        after = frozenset[str]().union(*masks[number + 1 :])
        if not masks[number]:
            yield _Check(str(check.get("check")), canonical(check), before, after - before)  # type: ignore[arg-type]


def _masked(check: dict[str, object]) -> frozenset[str]:
    if check.get("check") != "pii_mask":
        return frozenset()
    fields = check.get("fields")
    return frozenset({_BY_DATA_MODELS} if fields is None else (str(each) for each in items(fields)))
