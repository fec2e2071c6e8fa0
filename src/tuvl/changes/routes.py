"""Where signals lead, how a run can end, and which outcomes an agent has."""

from tuvl.analysis.signals import FAILURES, outcomes
from tuvl.analysis.steps import END, StepView, items, mapping
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.findings import TOP, Findings, Spot
from tuvl.changes.renames import StepPairs
from tuvl.spec.signals import DEFAULT
from tuvl.values import canonical


def compare_routes(
    findings: Findings, facts: tuple[WorkflowFacts, WorkflowFacts], before: StepView, after: StepView, spot: Spot
) -> None:
    """Compare where the signals of one step lead, by a route or by falling through."""
    was, now = _routes(facts[0], before), _routes(facts[1], after)
    for signal in dict.fromkeys((*was, *now)):
        one, other = was.get(signal), now.get(signal)
        if one == other:
            if (signal in before.routes) != (signal in after.routes):
                findings.spelled_otherwise = True
            continue
        below = spot.at("routes").at(signal)
        if signal not in after.routes:
            below = spot.at("routes") if "routes" in after.data else spot
        said = f"signal {signal!r} leads elsewhere" if one and other else f"signal {signal!r}"
        findings.say("route-changed", said, below, shown=(one or "no route", other or "no route"))
    raw_old, raw_new = before.data.get("routes"), after.data.get("routes")
    if was == now and not isinstance(raw_old, dict | None) | isinstance(raw_new, dict | None):
        findings.say("field-changed", "routes", spot.at("routes"), raw_old, raw_new)


def _routes(facts: WorkflowFacts, step: StepView) -> dict[str, str]:
    found = dict(step.routes)
    edges = facts.graph.edges.get(step.id, {})
    if DEFAULT in edges and DEFAULT not in found:
        found[DEFAULT] = edges[DEFAULT]
    return found


def compare_outcomes(
    findings: Findings, facts: tuple[WorkflowFacts, WorkflowFacts], before: StepView, after: StepView, spot: Spot
) -> tuple[set[str], set[str]]:
    """Compare the outcomes of an agent; returns those that are gone and those that are new."""
    was, now = outcomes(before) or (DEFAULT,), outcomes(after) or (DEFAULT,)
    gone, come = [each for each in was if each not in now], [each for each in now if each not in was]
    place = spot.at("agent", label="").at("outcome").at("enum")
    on_spine = before.id in facts[0].graph.spine
    for name, other in _renamed(gone, come, before, after):
        code = "outcome-renamed" if on_spine else "field-changed"
        below = place.at(was.index(name), now.index(other), label="")
        findings.say(code, f"outcome {name!r} has another name", below, name, other)
        gone.remove(name)
        come.remove(other)
    for name in gone:
        code = "outcome-removed" if on_spine else "field-changed"
        below = place.at(was.index(name), label="")
        findings.say(code, f"outcome {name!r} is gone", below, on_old=True)
    for name in come:
        findings.say("outcome-added", f"outcome {name!r} is new", place.at(now.index(name), label=""))
    raw = tuple(items(mapping(step.agent.get("outcome")).get("enum")) for step in (before, after))
    if set(was) == set(now) and canonical(raw[0]) != canonical(raw[1]):
        findings.say("order-changed", "outcomes in another order, which the model reads", place)
    return {name for name in was if name not in now}, {name for name in now if name not in was}


def _renamed(gone: list[str], come: list[str], before: StepView, after: StepView) -> list[tuple[str, str]]:
    """Pair outcomes that are gone with new ones: by where they lead, or when there is one of each."""
    if len(gone) == len(come) == 1:
        return [(gone[0], come[0])] if DEFAULT not in (gone[0], come[0]) else []
    pairs = []
    left = list(come)
    for name in gone:
        target = before.routes.get(name)
        matches = [other for other in left if target is not None and after.routes.get(other) == target]
        if len(matches) == 1 and sum(before.routes.get(each) == target for each in gone) == 1:
            pairs.append((name, matches[0]))
            left.remove(matches[0])
    return pairs


def compare_exits(
    findings: Findings,
    pairs: StepPairs,
    facts: tuple[WorkflowFacts, WorkflowFacts],
    told: tuple[set[str], set[str]],
) -> None:
    """Compare the signals on which a run can end, those apart that are told as outcomes."""
    was, now = _exits(facts[0]), _exits(facts[1])
    for signal, step in was.items():
        if signal not in now and signal not in told[0]:
            place = Spot((*step.path, "routes", signal), (), "", step.id)
            findings.say("exit-removed", f"the run no longer ends on {signal!r}", place, on_old=True)
    for signal, step in now.items():
        if signal not in was and signal not in told[1]:
            place = Spot((), (*step.path, "routes", signal), "", step.id)
            findings.say("exit-added", f"the run may end on {signal!r}", place)
    entries = (facts[0].graph.entry, facts[1].graph.entry)
    if entries[0] != entries[1]:
        entry = facts[1].view.by_id.get(entries[1] or "")
        spot = TOP if entry is None else Spot((), entry.path, "", None)
        findings.say("entry-changed", "the run begins at another step", spot, shown=entries)


def _exits(facts: WorkflowFacts) -> dict[str, StepView]:
    found: dict[str, StepView] = {}
    for name in facts.graph.spine:
        if name not in facts.graph.reachable and name != facts.graph.entry:
            continue
        for signal, target in facts.graph.taken(name).items():
            if target == END and not (signal in FAILURES and signal not in facts.graph.steps[name].routes):
                found.setdefault(signal, facts.graph.steps[name])
    return found
