"""What stood before a write, where a step of another kind stands now: a workflow that a step ran, or a router.

Both are compared as workflows of their own, the new one as the new state of the old one, with a step that stands for
the end by which the write follows: so the rules of one workflow tell what is passed by. Where a step runs another
workflow than it did, the two are compared anyway.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.graph import route_graph
from tuvl.analysis.signals import ABORTED, FAILURES, TIMEOUT
from tuvl.analysis.steps import END, StepView, WorkflowView, text
from tuvl.changes.authority import compare_authority
from tuvl.changes.called import Called
from tuvl.changes.change import CODES, GRAVE, Change
from tuvl.changes.ends import SIGNALS, How, deciding, end_of, reach_of, with_ends
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.reach import Reach, bits_of
from tuvl.changes.renames import StepPairs, pair_steps
from tuvl.dataclass import dataclass
from tuvl.spec.signals import DEFAULT, ERROR

_ELSEWHERE = "elsewhere"

_Facts = tuple[WorkflowFacts, WorkflowFacts]


@dataclass(frozen=True, slots=True)
class _Replaced:
    """What stands at a step in both states, and what follows one end of it."""

    steps: tuple[StepView, StepView]
    """The step of the spine."""
    stands: tuple[StepView, StepView]
    """The same, or the body of a list."""
    facts: _Facts
    how: How
    deed: str

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it apart from others that are looked at in turn."""
        return (self.how, *(_called(step) or (facts.view.name, step.id) for step, facts in self._sides()))

    def _sides(self) -> Iterator[tuple[StepView, WorkflowFacts]]:
        return zip(self.stands, self.facts, strict=True)


def compare_replaced(findings: Findings, pairs: StepPairs, facts: _Facts, called: Called) -> None:
    """Tell of steps in place of which others stand, where a write follows that was decided on there."""
    for first in _replaced(pairs, facts):
        before, after = first.steps
        told: set[tuple[str, str]] = set()
        seen = {first.key}
        waiting = deque([first])
        while waiting:
            each = waiting.popleft()
            changes, inner = _looked_at(findings, each, called)
            for change in changes:
                message, way = (_in_words(said or "", each, first.deed) for said in (change.message, change.after))
                if (change.code, message) not in told:
                    told.add((change.code, message))
                    said = f"{_stands(first.stands[1])} in place of {_stands(first.stands[0])}: {message}"
                    spot = Spot(before.path, after.path, "", after.id)
                    findings.say(change.code, said, spot, shown=(change.before, way), may=change.may)
            new = [more for more in inner if more.key not in seen]
            seen |= {more.key for more in new}
            waiting += new


def _looked_at(findings: Findings, each: _Replaced, called: Called) -> tuple[list[Change], list[_Replaced]]:
    """What may follow at one step, and what is replaced within what stands there."""
    states = [_state(each, side) for side in (0, 1)]
    if states[0] is None or states[1] is None:
        return [], []
    pairs = pair_steps(WorkflowView(states[0]), WorkflowView(states[1]))
    old, new = each.facts
    facts = (WorkflowFacts(pairs.old, old.index, old.callees), WorkflowFacts(pairs.new, new.index, new.callees))
    found = Findings(findings.old, findings.new)
    compare_authority(found, pairs, facts, called)
    return [change for change in found.changes if CODES[change.code].cls in GRAVE], list(
        _replaced(pairs, facts, linked=False)
    )


def _in_words(said: str, each: _Replaced, deed: str) -> str:
    now = each.stands[1]
    said = said.removeprefix("the run begins elsewhere, and ").replace(end_of(_name(each), each.how), deed)
    return said.replace(_apart(now, each.facts[1]), now.id)


# ---- what is replaced ----------------------------------------------------------------------------------------------


def _replaced(pairs: StepPairs, facts: _Facts, *, linked: bool = True) -> Iterator[_Replaced]:
    """Yield what is replaced; `linked`: workflows that one step runs in turn are compared anyway."""
    for before, after in pairs.matched:
        stands = _standing(before, after, facts, linked)
        if stands is not None:
            old = Reach(facts[0], bits_of(_follows(facts[1], after)))
            for how, deed in _decided(old, before, stands[0]).items():
                yield _Replaced((before, after), stands, facts, how, deed)


def _follows(facts: WorkflowFacts, step: StepView) -> list[str]:
    """What can follow a step."""
    reach = reach_of(facts)
    ahead = 0
    for target in facts.graph.taken(step.id).values():
        ahead |= reach.ahead(target)
    return [name for name, bit in reach.bits.items() if bit & ahead]


def _standing(before: StepView, after: StepView, facts: _Facts, linked: bool) -> tuple[StepView, StepView] | None:
    """What stands at a step in both states, if that was a workflow or a router and is another kind, or step, now."""
    if any(step.id not in each.graph.signals for step, each in zip((before, after), facts, strict=True)):
        return None
    was = _body(before, facts[0])
    # A list that does not stand in the file may have no items.
    full = isinstance(listed := after.data.get("items"), list) and bool(listed)
    now = _body(after, facts[1]) if before.kind == "ForEach" or full else after
    if was.kind == "Router" and was is before:
        # A question in its place is one more; what it was about is seen by who answers it.
        return None if now.kind in ("Router", "HumanInTheLoop") else (was, now)
    if was.kind != "Workflow" or _called(was) == _called(now):
        return None
    return None if linked and was.id == now.id and now.kind == "Workflow" else (was, now)


def _body(step: StepView, facts: WorkflowFacts) -> StepView:
    body = facts.view.by_id.get(text(step.data.get("step")) or "") if step.kind == "ForEach" else None
    return step if body is None else body


def _decided(old: Reach, before: StepView, stood: StepView) -> Mapping[How, str]:
    """The ends by which alone something could follow, and what."""
    if stood.kind == "Workflow":
        return deciding(old, before.id)
    bits = old.decides(before.id)
    first = next((name for name, bit in old.bits.items() if bit & bits), None)
    return {} if first is None else {"end": first}


# ---- what stands there, as a workflow of its own -------------------------------------------------------------------


def _state(each: _Replaced, side: int) -> Mapping[str, Any] | None:
    """What stands at the step in one state; `None` for a workflow that is not there, or by which nothing follows."""
    facts, stands, step = each.facts[side], each.stands[side], each.steps[side]
    end = end_of(_name(each), each.how)
    leads = _leads(facts, step, each.deed)
    if stands.kind == "Workflow":
        inner = facts.callees.facts(_called(stands) or "")
        ends = {each.how: end} if SIGNALS[each.how] in leads else {}
        return None if inner is None or not ends else with_ends(inner.view.data, facts.index, ends)
    twin = _twin(stands, each.facts[1 - side], each.stands[1 - side])
    name = twin or (_apart(stands, facts) if side else stands.id)
    return with_ends(_alone(facts, stands, name, leads if stands is step else None), facts.index, {"end": end})


def _apart(step: StepView, facts: WorkflowFacts) -> str:
    """Id of a step that is no step of the old state; no step of a file can have such an id."""
    return f"{step.id} of {facts.view.name}"


def _twin(step: StepView, others: WorkflowFacts, other: StepView) -> str | None:
    """Id of the one router, or question, that stands in a workflow in place of such a step, or stood there."""
    inner = others.callees.facts(_called(other) or "")
    alike = [each.id for each in inner.view.steps if each.kind == step.kind] if inner is not None else []
    return alike[0] if len(alike) == 1 and step.kind in ("Router", "HumanInTheLoop") else None


def _leads(facts: WorkflowFacts, step: StepView, deed: str) -> frozenset[str]:
    """Signals of a step from which a deed can follow."""
    reach = Reach(facts, {deed: 1})
    taken = facts.graph.taken(step.id)
    return frozenset(signal for signal, target in taken.items() if reach.ahead(target, frozenset({step.id})))


def _alone(facts: WorkflowFacts, step: StepView, name: str, leads: frozenset[str] | None) -> Mapping[str, Any]:
    """A workflow of one step, which comes to its end by the signals that lead on; the body of a list by any success."""
    data = {key: value for key, value in step.data.items() if key not in ("routes", "hooks")}
    signals = route_graph(WorkflowView({"spec": {"steps": [data]}}), facts.index).signals.get(step.id)
    known = {DEFAULT, ERROR, *(facts.graph.taken(step.id) if leads is not None else signals.known if signals else ())}
    on = known - FAILURES - {TIMEOUT} if leads is None else leads
    routes = {signal: END if signal in on else _ELSEWHERE for signal in sorted(known - {ABORTED})}
    steps = [{**data, "id": name, "routes": routes}]
    other = {"id": _ELSEWHERE, "kind": "Functional", "runner": "fail", "message": _ELSEWHERE}
    return {"kind": "Workflow", "metadata": {"name": facts.view.name}, "spec": {"steps": [*steps, other]}}


def _called(step: StepView) -> str | None:
    return text(step.data.get("workflow")) if step.kind == "Workflow" else None


def _name(each: _Replaced) -> str:
    return _called(each.stands[0]) or each.stands[0].id


def _stands(step: StepView) -> str:
    name = _called(step)
    return f"step {step.id!r} ({step.kind})" if name is None else f"workflow {name!r}"
