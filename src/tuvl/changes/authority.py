"""What a run may do now that it could not, by its routes and decisions: a person, a guardrail or a decision passed by.

Each signal is looked at where it leads elsewhere, or where what decides it is another. Whatever can follow now and
could not follow before, with or without the steps that stood before it, is told with a way that leads there. A way
that is new begins at such a signal, so that none is missed.
"""

from collections.abc import Iterator

from tuvl.analysis.signals import FAILURES
from tuvl.analysis.steps import StepView
from tuvl.changes.admitted import admitted, let_through
from tuvl.changes.asked_about import compare_values
from tuvl.changes.called import Called
from tuvl.changes.decisions import Move, lead, moves
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.reach import NOBODY, Reach, bits_of
from tuvl.changes.renames import StepPairs
from tuvl.changes.revalued import Values
from tuvl.dataclass import dataclass
from tuvl.spec.signals import DEFAULT

MOST_GATES = 100_000
"""Gates times routes past which single gates are not looked at, only whether any person is asked."""
_LONGEST = 8


@dataclass(frozen=True, slots=True)
class _Gate:
    """Steps that stand before deeds, and how it is told that they are passed by.

    Deeds before which a person is always asked for approval count with `asked` only.
    """

    code: str
    said: str
    without: frozenset[str]
    deeds: int
    asked: bool = True
    answered: bool = True
    """Whether what comes after an answer of a person counts."""


@dataclass(frozen=True, slots=True)
class _Place:
    """One signal of one step, or the beginning of a run, in both states."""

    spot: Spot
    said: str
    step: StepView | None
    targets: tuple[tuple[str | None, ...], str | None]
    may: bool
    shown: tuple[str, str | None] | None = None
    """Values before and after that say more than where it leads; after may be the way itself."""


def compare_authority(
    findings: Findings,
    pairs: StepPairs,
    facts: tuple[WorkflowFacts, WorkflowFacts],
    called: Called,
    *,
    unseen: frozenset[str] = frozenset(),
) -> Values | None:
    """Tell where a run comes to what it does outside on ways, or with values, on which it did not.

    Before what is `unseen`, it does not count what a person is shown: somebody else knows whether that is sent.
    Returns where its values come from, if it does anything outside.
    """
    old, new = Reach(facts[0]), Reach(facts[1])
    names = _deeds(old) & _deeds(new)
    bits = bits_of(sorted(names))
    if not bits:
        return None
    old.bits = new.bits = bits
    values = Values(pairs, facts, called)
    compare_values(findings, values, (old, new), unseen)
    places = list(_places(values, facts))
    gates = list(_gates(old, new)) if places else []
    told: set[tuple[object, ...]] = set()
    # What is certain comes first, so that it is not told as a may-be.
    for place in sorted(places, key=lambda each: each.may):
        for gate, deeds in _grown(old, new, place, gates):
            signal = None if place.may else place.said
            key = (place.step.id if place.step else None, signal, gate.code, gate.without, deeds)
            if key not in told:
                told.add(key)
                _tell(findings, (old, new), place, gate, deeds)
    return values


def _deeds(reach: Reach) -> frozenset[str]:
    """All that acts, wherever it stands: what acts only now is told as that."""
    facts = reach.facts
    own = {step.id for step in facts.view.steps if facts.acts(step) or step.kind == "Workflow"}
    return frozenset(own | {name for deeds in reach.deeds.values() for name in deeds})


def _places(values: Values, facts: tuple[WorkflowFacts, WorkflowFacts]) -> Iterator[_Place]:
    entries = (facts[0].graph.entry, facts[1].graph.entry)
    if entries[0] != entries[1] and entries[1] is not None:
        path = facts[1].graph.steps[entries[1]].path
        yield _Place(Spot(path, path), "the run begins elsewhere, and", None, ((entries[0],), entries[1]), False)
    looser = admitted(facts)
    for before, after in values.pairs.matched:
        if _ends_unanswered(facts, before, after):
            spot, said = Spot(before.path, after.path, "", after.id), "may come to its end without an answer, and"
            said = f"workflow {after.data.get('workflow')!r} {said}"
            yield _Place(spot.at("workflow"), said, after, ((before.id,), after.id), False)
        for signal, may in let_through(looser, facts[1], after):
            target = lead(facts[1], after, signal)
            spot = Spot(before.path, after.path, "", after.id)
            if target is not None:
                place = spot.at("routes").at(signal) if signal in after.routes else spot
                yield _Place(
                    place, f"signal {signal!r} of input that was refused", after, ((), target), may, ("refused", None)
                )
        why = values.revalued.get(after.id)
        for move in moves(facts, before, after, revalued=why is not None):
            targets = tuple(lead(facts[0], before, signal) for signal in move.old), lead(facts[1], after, move.new)
            if targets[1] is None or (move.old == (move.new,) and targets[0] == targets[1:]):
                continue
            said = (
                _said(after, move) if why is None or move.old == (move.new,) else f"{_said(after, move)}, since {why},"
            )
            yield _Place(_spot(before, after, move), said, after, targets, move.may, move.sooner)


def _ends_unanswered(facts: tuple[WorkflowFacts, WorkflowFacts], before: StepView, after: StepView) -> bool:
    """Whether a step runs a workflow that asked a person on every way to its end, and does not now."""
    was, now = (each.unanswered.has_decided(step, DEFAULT) for each, step in zip(facts, (before, after), strict=True))
    return was and not now and before.kind == after.kind == "Workflow"


def _spot(before: StepView, after: StepView, move: Move) -> Spot:
    spot = Spot(before.path, after.path, "", after.id)
    if move.sooner is not None:
        return spot.at("timeout_s")
    if move.old != (move.new,) or move.may:
        decides = [key for key in ("condition", "match", "when", "signal_from") if key in after.data]
        changed = [key for key in decides if before.data.get(key) != after.data.get(key)]
        for key in changed or (decides if move.may else ()):
            return spot.at(key)
    return spot.at("routes").at(move.new) if move.new in after.routes else spot


def _said(after: StepView, move: Move) -> str:
    if move.sooner is not None:
        return f"signal {move.new!r} comes sooner, and"
    called = "answer" if after.kind == "HumanInTheLoop" and move.new not in FAILURES else "signal"
    if move.old == (move.new,) or len(move.old) != 1:
        return f"{called} {move.new!r}"
    return f"{called} {move.new!r} in place of {move.old[0]!r}"


def _gates(old: Reach, new: Reach) -> Iterator[_Gate]:
    """The gates of the old state, the gravest first."""
    every = (1 << len(old.bits)) - 1
    edges = sum(map(len, old.successors.values())) + 1
    if (len(old.persons | old.guards | old.askers | old.deciders)) * edges > MOST_GATES:
        return
    for name in sorted(old.persons):
        yield _Gate("approval-weakened", f"without the question of step {name!r}", frozenset({name}), every)
    for name in sorted(old.guards):
        yield _Gate("guardrail-weakened", f"without the guardrails of step {name!r}", frozenset({name}), every)
    for name in sorted(old.askers - old.persons):
        said = f"without the approval that step {name!r} may ask for"
        yield _Gate("approval-weakened", said, new.persons | {name}, every, asked=False)
    for name in sorted(old.deciders - old.persons):
        deeds = old.decides(name)
        if deeds:
            yield _Gate("write-reached", f"without the decision of step {name!r}", frozenset({name}), deeds)


def _grown(old: Reach, new: Reach, place: _Place, gates: list[_Gate]) -> Iterator[tuple[_Gate, int]]:
    """Yield what can follow at a place and could not, each deed once, by the gravest gate that it passes by."""
    before, after = place.targets
    any_new = new.ahead(after) & ~_ahead(old, before, NOBODY)
    alone = new.ahead(after, new.persons, asked=False) & ~_ahead(old, before, old.persons, asked=False)
    freed = _freed(old, new)
    person = place.step is not None and place.step.kind == "HumanInTheLoop"
    asks = _Gate("approval-weakened", "without a person being asked", new.persons, 0, asked=False)
    if alone & ~any_new | (any_new & alone & freed):
        yield asks, alone & ~any_new | (any_new & alone & freed)
    done = alone & (~any_new | freed)
    if person and any_new & ~done:
        yield _Gate("approval-weakened", "now", NOBODY, 0), any_new & ~done
        done |= any_new
    elif any_new & alone & ~done:
        yield _Gate("write-reached", "now", new.persons, 0, asked=False), any_new & alone & ~done
    late = new.ahead(after, asked=False, answered=False) & ~_ahead(old, before, NOBODY, asked=False, answered=False)
    late &= ~done & ~(any_new & (alone | (-1 if person else 0)))
    if late:
        said = "without a person having answered"
        yield _Gate("approval-weakened", said, NOBODY, 0, asked=False, answered=False), late
    done |= any_new | late
    for gate in gates:
        earlier = _ahead(old, before, gate.without, asked=gate.asked)
        grown = new.ahead(after, gate.without, asked=gate.asked) & ~earlier & gate.deeds & ~done
        if grown:
            yield gate, grown
            done |= grown


def _ahead(
    old: Reach,
    targets: tuple[str | None, ...],
    without: frozenset[str],
    *,
    asked: bool = True,
    answered: bool = True,
) -> int:
    found = 0
    for target in targets:
        found |= old.ahead(target, without, asked=asked, answered=answered)
    return found


def _freed(old: Reach, new: Reach) -> int:
    """Deeds before which a person was asked on every way of a run, and is not on one now."""
    first, second = old.facts.graph.entry, new.facts.graph.entry
    was = old.ahead(first) & ~old.ahead(first, old.persons, asked=False)
    return was & new.ahead(second, new.persons, asked=False)


def _tell(findings: Findings, states: tuple[Reach, Reach], place: _Place, gate: _Gate, deeds: int) -> None:
    old, new = states
    names = [name for name, bit in old.bits.items() if bit & deeds]
    fresh = (new.persons | new.guards | new.deciders) - old.facts.graph.steps.keys()
    target = place.targets[1]
    way, may = new.way(target, names[0], gate.without | fresh, asked=gate.asked, answered=gate.answered), place.may
    if way is None:
        # Only by a step that is new and asks or decides itself: nobody can tell how much it lets through.
        way, may = new.way(target, names[0], gate.without, asked=gate.asked, answered=gate.answered) or [], True
    sure = any(how.sure for deeds in new.deeds.values() for name, how in deeds.items() if name == names[0])
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    what = f"{place.said} leads to {names[0]!r}{more} {gate.said}"
    before, after = place.shown or (_targets(place.targets[0]), None)
    shown = (before, after or _way(way, names[0]))
    findings.say(gate.code, what, place.spot, shown=shown, may=may or not sure)


def _targets(targets: tuple[str | None, ...]) -> str:
    return ", ".join(dict.fromkeys(target or "no route" for target in targets)) or "no route"


def _way(way: list[str], deed: str) -> str:
    shown = [*way, deed] if way and way[-1] != deed else way
    if len(shown) > _LONGEST:
        shown = [*shown[: _LONGEST // 2], "…", *shown[-_LONGEST // 2 :]]
    return " then ".join(shown)
