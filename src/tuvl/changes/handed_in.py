"""What a workflow may do otherwise because it is given other values: by the step that runs it, or by its schedule.

The workflow is compared with itself, as if its first step set what is given otherwise: so everything counts that would
count if the values were changed inside of it. What it hands on to others is followed in turn, each workflow once for
the same keys, so that they may run each other.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from tuvl.analysis.graph import route_graph
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.changes.authority import compare_authority
from tuvl.changes.called import Called, Consequences, Handed
from tuvl.changes.change import CODES, GRAVE, Change
from tuvl.changes.deeds import deeds_of
from tuvl.changes.ends import end_of, following, with_ends
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.origins import Origins
from tuvl.changes.provenance import Links, keys_of
from tuvl.changes.renames import pair_steps
from tuvl.changes.revalued import Values, difference
from tuvl.changes.site import Doc, Side
from tuvl.values import canonical

_MOST = 4
"""Sets of keys of one workflow that are looked at apart; past these, all that may be otherwise are taken at once."""
_LONGEST = 6

_GIVER = "what it is given"
"""Id of the step that sets what is given; no step of a file can have such an id."""


def compare_handed(findings: Findings, values: Values) -> None:
    """Tell of steps that give the workflow they run other values than they did, where it may do otherwise by them."""
    for handed in _handed(values):
        step = values.new.facts.view.by_id[handed.step]
        before = next(one for one, after in values.pairs.matched if after.id == step.id)
        spot = Spot(before.path, step.path, "", step.id).at("input")
        told = _tell(findings, spot, handed, values.called)
        # Of values that are written as they were it is known already whether they are sent as they were seen.
        rewritten = tuple(sorted(_written_otherwise(*(mapping(each.get("input")) for each in (before, step)))))
        if rewritten and not told and _writes_after(values, step):
            shown = Handed(handed.step, handed.workflow, rewritten, ends=handed.ends)
            _tell_shown(findings, spot, shown, values.called)


def compare_scheduled(findings: Findings, called: Called) -> None:
    """Tell of a schedule that starts the workflow with other values, where it may do otherwise by them."""
    was, now = (mapping(doc.spec.get("trigger")) for doc in (findings.old, findings.new))
    if was.get("schedule") and now.get("schedule"):
        keys = tuple(_written_otherwise(mapping(was.get("input")), mapping(now.get("input"))))
        path = ("spec", "trigger", "input")
        if keys:
            _tell(findings, Spot(path, path, "trigger.input"), Handed("", findings.new.name, keys), called)


# ---- what follows, over all calls ----------------------------------------------------------------------------------


def _tell(findings: Findings, spot: Spot, first: Handed, called: Called) -> bool:
    """Tell of all that may follow from what is handed to a workflow; returns whether there was anything weakened."""
    weakened = False
    for way, found in _followed(findings.new.side, first, called):
        for change in found.changes:
            weakened |= change.code == "approval-weakened"
            said = f"{_given(way)}: {_in_words(change.message)}"
            findings.say(change.code, said, spot, shown=(None, _way(way, change)), may=True)
    return weakened


def _tell_shown(findings: Findings, spot: Spot, first: Handed, called: Called) -> None:
    """Tell of a person inside who is shown something else, where what they decide on is written by the caller."""
    for way, found in _followed(findings.new.side, first, called):
        for step, key in found.shown:
            said = f"{_given(way)}: in step {step!r} a person is shown another {key!r} than before"
            findings.say("approval-weakened", said, spot, shown=(None, _calls(way, step)), may=True)


def _followed(side: Side, first: Handed, called: Called) -> Iterator[tuple[tuple[Handed, ...], Consequences]]:
    """Yield the ways over calls on which values are handed on, the shortest first, and what follows at their ends."""
    seen: dict[object, list[frozenset[str]]] = {(first.workflow, first.ends): [frozenset(first.keys)]}
    waiting: deque[tuple[Handed, ...]] = deque([(first,)])
    while waiting:
        way = waiting.popleft()
        found = _consequences(side, way[-1], called)
        if found is None:
            continue
        yield way, found
        for handed in found.handed:
            known = seen.setdefault((handed.workflow, handed.ends), [])
            keys = frozenset(handed.keys)
            if len(known) >= _MOST:
                keys = keys.union(*known)
            if not any(keys <= each for each in known):
                known.append(keys)
                onward = Handed(handed.step, handed.workflow, tuple(sorted(keys)), handed.why, handed.ends)
                waiting.append((*way, onward))


def _given(way: tuple[Handed, ...]) -> str:
    first, last = way[0], way[-1]
    why = f" since {first.why}," if first.why else ""
    given = f"workflow {first.workflow!r} is given another {_listed(first.keys)},{why} by which"
    if len(way) == 1:
        return f"{given} it may do otherwise"
    return f"{given} workflow {last.workflow!r} is given another {_listed(last.keys)} and may do otherwise"


def _listed(keys: tuple[str, ...]) -> str:
    return ", ".join(map(repr, keys))


def _in_words(message: str) -> str:
    return message.replace(f"step {_GIVER!r} makes", "who runs it makes").replace(f"step {_GIVER!r}", "who runs it")


def _way(way: tuple[Handed, ...], change: Change) -> str:
    """A way to a write, over the calls that lead there."""
    inner = (change.after or "").removeprefix(f"{_GIVER} → ")
    if change.step is not None and change.step not in inner:
        inner = f"{change.step} → {inner}" if inner else change.step
    return _calls(way, inner)


def _calls(way: tuple[Handed, ...], inner: str) -> str:
    parts = [f"{handed.step}: {handed.workflow}" if handed.step else handed.workflow for handed in way]
    if len(parts) > _LONGEST:
        parts = [*parts[: _LONGEST // 2], "…", *parts[-_LONGEST // 2 :]]
    return " → ".join((*parts, inner))


def _writes_after(values: Values, step: StepView) -> bool:
    """Whether what a person decides in the workflow that a step runs may be written after it, in both states."""
    old, new = values.old, values.new
    running = {step.id, *(each.id for each in new.facts.view.steps if each.kind == "ForEach" and _is_body(each, step))}
    places = [place for name in running if (place := new.place_of(name)) is not None]
    for before, after in values.pairs.matched:
        target = new.place_of(after.id)
        if target is None or not deeds_of(old.facts, before) or not deeds_of(new.facts, after):
            continue
        if any(new.provenance.leads(place, target) for place in places):
            return True
    return False


def _is_body(each: StepView, step: StepView) -> bool:
    return each.data.get("step") == step.id


# ---- what follows inside of one workflow ---------------------------------------------------------------------------


def _consequences(side: Side, handed: Handed, called: Called) -> Consequences | None:
    """What a workflow may do by other values of its keys; `None` where there is no such workflow."""
    known = (handed.workflow, handed.keys, handed.ends)
    document = side.index.find("Workflow", handed.workflow) if handed.workflow else None
    if document is None:
        return None
    alone = called.alone
    if known not in alone.consequences:
        doc = Doc(side, document, mapping(document.data))
        ends = {how: end_of(handed.workflow, how) for how in handed.ends}
        given = (_with_first(doc, handed.keys, value) for value in ("was", "is"))
        old, new = (Doc(side, document, with_ends(data, side.index, ends)) for data in given)
        pairs = pair_steps(WorkflowView(old.data), WorkflowView(new.data))
        facts = tuple(WorkflowFacts(view, side.index, alone.callees[1]) for view in (pairs.old, pairs.new))
        findings = Findings(old, new, workflow=doc.name)
        values = compare_authority(findings, pairs, (facts[0], facts[1]), alone, unseen=frozenset(ends.values()))
        asked = values or Values(pairs, (facts[0], facts[1]), alone)
        grave = tuple(change for change in findings.changes if CODES[change.code].cls in GRAVE)
        alone.consequences[known] = Consequences(grave, tuple(_shown(asked)), tuple(_handed(asked)))
    return alone.consequences[known]


def _with_first(doc: Doc, keys: tuple[str, ...], value: str) -> Mapping[str, Any]:
    """A workflow that begins with a step that sets keys."""
    entry = route_graph(WorkflowView(doc.data), doc.side.index).entry
    first = {"id": _GIVER, "kind": "Functional", "runner": "set", "values": dict.fromkeys(keys, value)}
    steps = [{**first, "routes": {"default": entry}} if entry else first, *items(doc.spec.get("steps"))]
    return {**doc.data, "spec": {**doc.spec, "steps": steps}}


def _shown(values: Values) -> Iterator[tuple[str, str]]:
    """Yield questions and the keys that a person is shown otherwise there."""
    for name, keys in values.new.persons().items():
        if values.new.facts.graph.steps[name].kind == "HumanInTheLoop":
            for key in sorted(keys):
                was, now = values.both(partial(Origins.shown, name=name, key=key))
                if was != now:
                    yield name, key


# ---- what a step hands over ----------------------------------------------------------------------------------------


def _handed(values: Values) -> Iterator[Handed]:
    """Yield the steps that give the workflow they run other values."""
    if values.are_same:
        return
    follows = [following(origins.facts) for origins in (values.old, values.new)]
    for before, after in values.pairs.matched:
        name = text(after.data.get("workflow"))
        if after.kind == before.kind == "Workflow" and name and name == before.data.get("workflow"):
            found = dict(_given_otherwise(values, before, after))
            if found:
                why = next((each for each in found.values() if each), "")
                ends = tuple(how for how in follows[1].get(after.id, {}) if how in follows[0].get(before.id, {}))
                yield Handed(after.id, name, tuple(sorted(found)), why, ends)


def _given_otherwise(values: Values, before: StepView, after: StepView) -> Iterator[tuple[str, str]]:
    """Yield keys whose values are written otherwise, or may come from elsewhere, and then from where."""
    was, now = (mapping(step.get("input")) for step in (before, after))
    otherwise = set(_written_otherwise(was, now))
    yield from ((name, "") for name in otherwise)
    for name in now:
        if name not in otherwise:
            links = values.both(partial(_origins, step=after, name=name))
            if all(links) and links[0] != links[1]:
                yield name, difference(*links)


def _written_otherwise(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*was, *now)):
        if name not in was or name not in now or canonical(was[name]) != canonical(now[name]):
            yield name


def _origins(origins: Origins, *, step: StepView, name: str) -> Links:
    """What one of the values that a step gives comes from."""
    found: Links = frozenset()
    for called in (False, True):
        place = origins.provenance.at.get((step.id, called))
        if place is not None and origins.provenance.is_reached(place):
            at = origins.provenance.graph.places[place]
            above = (*at.step.path, "input", name)
            keys = keys_of(tuple(read for read in at.reads if read.place[: len(above)] == above))
            found |= origins.provenance.links(step.id, place, keys)
    return found
