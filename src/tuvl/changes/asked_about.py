"""What is written after a decision, and whether it may be another than the one that was asked about.

A person approves what they are shown, and a router lets pass what it looks at. Where the values behind that come from
elsewhere now, or are changed on the way to the write, the decision was about something else.
"""

from collections.abc import Callable, Iterator, Mapping, Set
from functools import partial

from tuvl.analysis.flow_graph import Edge
from tuvl.analysis.key_reads import KeyRead
from tuvl.analysis.references import tool_entries
from tuvl.analysis.steps import StepView
from tuvl.analysis.witness import shortest, shown
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.origins import Origins
from tuvl.changes.provenance import SEEN, Asked, Links, Provenance, keys_of
from tuvl.changes.reach import Reach
from tuvl.changes.revalued import Values, difference
from tuvl.dataclass import dataclass

VALUES: Mapping[tuple[str, ...], str] = {
    ("idempotency_key",): "write-repeatable",
    ("filters",): "filter-changed",
    ("agent", "conversation", "id"): "conversation-changed",
    ("auth", "assignee_user"): "approval-weakened",
}
"""Field → what it means that its value may be another, whatever was decided before."""


_Wanted = Callable[[KeyRead, StepView], bool]


@dataclass(frozen=True, slots=True)
class _Gate:
    """A step that asks or decides, in both states, and the keys that it looks at in both."""

    name: str
    seen: frozenset[str]
    person: bool


def compare_values(
    findings: Findings, values: Values, reaches: tuple[Reach, Reach], unseen: frozenset[str] = frozenset()
) -> None:
    """Tell of writes, approvals and questions whose values may be others than they were.

    Before writes that are `unseen`, it does not count what a person is shown.
    """
    if values.are_same:
        return
    gates = list(_gates(values))
    writes = [
        (before, after)
        for before, after in values.pairs.matched
        if reaches[0].deeds.get(before.id) and reaches[1].deeds.get(after.id)
    ]
    persons = tuple(
        {place: gate.seen for gate in gates if gate.person and (place := origins.place_of(gate.name)) is not None}
        for origins in (values.old, values.new)
    )
    told = {after.id for before, after in writes if _write(findings, values, reaches, (before, after), gates, persons)}
    shown = [after for _, after in writes if after.id not in unseen]
    for gate in gates:
        if gate.person:
            _question(findings, values, gate, shown, persons[1])
    for before, after in values.pairs.matched:
        _fields(findings, values, before, after)
        if before.kind == after.kind == "Agent" and after.id not in told:
            _approvals(findings, values, before, after)


def _gates(values: Values) -> Iterator[_Gate]:
    """Those who are asked, persons first."""
    was, now = values.old.persons(), values.new.persons()
    for name in (each for each in now if each in was):
        yield _Gate(name, was[name] & now[name], person=True)
    for before, after in values.pairs.matched:
        if before.kind == after.kind == "Router":
            read = [origins.read_by(step) for origins, step in ((values.old, before), (values.new, after))]
            yield _Gate(after.id, read[0] & read[1], person=False)


def _write(
    findings: Findings,
    values: Values,
    reaches: tuple[Reach, Reach],
    steps: tuple[StepView, StepView],
    gates: list[_Gate],
    persons: tuple[Mapping[int, frozenset[str]], ...],
) -> bool:
    """Tell of one write, by the gravest that it may pass by; returns whether anything was said."""
    before, after = steps
    done: set[frozenset[str] | None] = set()
    for gate in gates:
        code = "approval-weakened" if gate.person else _decides(reaches[0], gate.name, before.id)
        if code is None or gate.name == after.id:
            continue
        asked = {
            origins: _asked(origins, gate, step, others)
            for origins, step, others in zip((values.old, values.new), steps, persons, strict=True)
        }
        if None in asked.values():
            continue
        by_state = dict(zip((values.old, values.new), steps, strict=True))
        only = None if gate.person else gate.seen
        if values.effort.loose and only in done:
            continue  # by keys alone it is the same wherever somebody was asked
        was, now = values.both(partial(_sent, steps=by_state, asked=asked, only=only))
        if values.effort.loose:
            done.add(only)
        if was != now:
            what = "was asked about" if gate.person else "decided on"
            why = difference(was, now)
            said = f"what it sends may be another than step {gate.name!r} {what}: {why}"
            way = _way(values.new.provenance, values.new.provenance.at[gate.name, False], after.id, why)
            findings.say(code, said, Spot(before.path, after.path, "", after.id), shown=(None, way), may=True)
            return True
    return _unasked(findings, values, steps, gates, persons)


def _unasked(
    findings: Findings,
    values: Values,
    steps: tuple[StepView, StepView],
    gates: list[_Gate],
    persons: tuple[Mapping[int, frozenset[str]], ...],
) -> bool:
    """Tell of a write that persons are shown the values of, on the ways there on which nobody is asked."""
    asking = [gate for gate in gates if gate.person and _asked(values.old, gate, steps[0], persons[0]) is not None]
    keys = frozenset[str]().union(*(gate.seen for gate in asking))
    if not keys or values.effort.loose:
        return False  # by keys alone it was told of the persons, if there is anything
    by_state = dict(zip((values.old, values.new), steps, strict=True))
    asked: dict[Origins, Asked | None] = {
        origins: Asked(0, frozenset(), others) for origins, others in zip(by_state, persons, strict=True)
    }
    was, now = values.both(partial(_sent, steps=by_state, asked=asked, only=keys))
    if all(made == SEEN for _, _, made in now - was):
        return False  # what is left, or has been looked at now, could be sent before
    before, after = steps
    why = difference(was, now)
    way = _way(values.new.provenance, 0, after.id, why, past=persons[1].keys())
    said = f"what it sends may be another where nobody is asked: {why}"
    findings.say("approval-weakened", said, Spot(before.path, after.path, "", after.id), shown=(None, way), may=True)
    return True


def _sent(
    origins: Origins,
    *,
    steps: Mapping[Origins, StepView],
    asked: Mapping[Origins, Asked | None],
    only: frozenset[str] | None,
) -> Links:
    return origins.sent(steps[origins], asked[origins], only)


def _decides(old: Reach, router: str, write: str) -> str | None:
    """What it means to pass by a router on the way to a write; `None` where all its ways lead there alike."""
    names = old.deeds.get(write, {})
    bit = 0
    for name in names:
        bit |= old.bits.get(name, 0)
    if router not in old.facts.graph.signals:
        return None
    targets = old.decided(router).values()
    alone = {old.ahead(target, old.persons, asked=False) & bit for target in targets}
    if len(alone) > 1 and old.persons:
        return "approval-weakened"
    return "write-reached" if len({old.ahead(target) & bit for target in targets}) > 1 else None


def _asked(origins: Origins, gate: _Gate, step: StepView, others: Mapping[int, frozenset[str]]) -> Asked | None:
    """The gate as values are followed from it; `None` where no way leads from it to the step."""
    place, target = origins.place_of(gate.name), origins.place_of(step.id)
    if place is None or target is None:
        return None
    return Asked(place, gate.seen, others) if origins.provenance.leads(place, target) else None


def _way(provenance: Provenance, start: int, last: str, why: str, past: Set[int] = frozenset()) -> str:
    """A way to a write by which nobody answers that is passed, by the step that makes the value if one does there."""
    graph = provenance.graph
    end = provenance.at[last, False]

    def unanswered(edge: Edge) -> bool:
        return edge.source not in past or not provenance.answered(edge)

    for place in graph.places:
        if not place.called and f"step {place.step.id!r}" in why and place.index not in (start, end):
            there = shortest(graph, place.index, unanswered, start=start)
            onward = shortest(graph, end, unanswered, start=place.index)
            if there and onward:
                return shown(graph, (*there, *onward), start=start)
    return shown(graph, shortest(graph, end, unanswered, start=start) or (), start=start)


def _question(
    findings: Findings, values: Values, gate: _Gate, writes: list[StepView], others: Mapping[int, frozenset[str]]
) -> None:
    """What a person is shown comes from elsewhere, and is not what is written then."""
    for key in sorted(gate.seen):
        was, now = values.both(partial(Origins.shown, name=gate.name, key=key))
        if was == now:
            continue
        after = [step for step in writes if _asked(values.new, gate, step, others) is not None]
        if after and not any(_sends_as_seen(values, gate, step, key, others) for step in after):
            path = values.new.facts.graph.steps[gate.name].path
            said = f"the person is shown another {key!r} than before: {difference(was, now)}"
            findings.say("approval-weakened", said, Spot(path, path, "", gate.name), may=True)


def _sends_as_seen(values: Values, gate: _Gate, step: StepView, key: str, others: Mapping[int, frozenset[str]]) -> bool:
    """Whether what a person is shown is sent itself, not only what they answer to it."""
    origins = values.new
    asked = _asked(origins, gate, step, others)
    if origins.provenance.effort.loose or asked is None:
        return False
    answer = "" if key in _passed_on(values, gate) else f"step {gate.name!r}"
    return any(each[1:] == (key, SEEN) and each[0] != answer for each in origins.sent(step, asked))


def _passed_on(values: Values, gate: _Gate) -> frozenset[str]:
    """What a person is shown that is in the output of a workflow which asks them."""
    place = values.new.provenance.graph.places[values.new.provenance.at[gate.name, False]]
    if place.step.kind != "Workflow":
        return frozenset()
    passed = values.called.passed_on(place.step)
    given = {(*place.step.path, "input", name) for name in passed}
    return keys_of(tuple(read for read in place.reads if read.place[: len(place.step.path) + 2] in given))


# ---- fields whose value means something, whatever was decided before ----------------------------------------------


def _fields(findings: Findings, values: Values, before: StepView, after: StepView) -> None:
    for field, code in VALUES.items():
        if before.get(*field) == after.get(*field) is not None:
            said = _another(values, (before, after), partial(_is_in, field=field))
            if said is not None:
                spot = Spot((*before.path, *field), (*after.path, *field), ".".join(field), after.id)
                findings.say(code, f"{spot.label} may be another: {said}", spot, may=True)
    if before.get("http", "url") == after.get("http", "url") and _has_open_host(values.new.facts, after):
        said = _another(values, (before, after), partial(_is_in, field=("http", "url")))
        if said is not None:
            spot = Spot((*before.path, "http", "url"), (*after.path, "http", "url"), "http.url", after.id)
            findings.say("host-added", f"calls may go to another host: {said}", spot, may=True)


def _is_in(read: KeyRead, step: StepView, field: tuple[str | int, ...]) -> bool:
    return read.place[len(step.path) : len(step.path) + len(field)] == field


def _has_open_host(facts: WorkflowFacts, step: StepView) -> bool:
    if step.kind != "APICall":
        return False
    found = facts.urls.get((*step.path, "http", "url"))
    return found is not None and ("\0" in found.host or not found.host)


def _another(values: Values, steps: tuple[StepView, StepView], wanted: _Wanted) -> str | None:
    """Say what some reads of a step come from now, if that is not what it was."""
    was, now = values.both(partial(_read_by, name=steps[1].id, wanted=wanted))
    return difference(was, now) if was and now and was != now else None


def _read_by(origins: Origins, *, name: str, wanted: _Wanted) -> Links:
    found: Links = frozenset()
    for called in (False, True):
        place = origins.provenance.at.get((name, called))
        if place is not None and origins.provenance.is_reached(place):
            at = origins.provenance.graph.places[place]
            reads = tuple(read for read in at.reads if wanted(read, at.step))
            found |= origins.provenance.links(name, place, keys_of(reads))
    return found


def _approvals(findings: Findings, values: Values, before: StepView, after: StepView) -> None:
    """Approvals of tools: what an expression decides by, and what the tool does beside its arguments."""
    was = {ref: entry for _, ref, entry in tool_entries(before)}
    for index, ref, entry in tool_entries(after):
        tools = [origins.facts.view.by_id.get(ref) for origins in (values.old, values.new)]
        if ref not in was or tools[0] is None or tools[1] is None:
            continue
        spot = Spot(before.path, (*after.path, "agent", "tools", index), f"tool {ref!r}", after.id)
        one, other = (str(each.get("approval", "never")) for each in (was[ref], entry))
        policy = all(o.facts.by_policy(tool) for o, tool in zip((values.old, values.new), tools, strict=True) if tool)
        if "never" in (one, other) and not policy:
            continue
        said = None
        if one == other:
            said = _another(values, (before, after), partial(_is_approval, ref=ref))
        if said is not None:
            what = f"{spot.label}: who is asked may be decided by another value: {said}"
            findings.say("approval-weakened", what, spot.at("approval"), may=True)
        elif values.old.facts.acts(tools[0]) and values.new.facts.acts(tools[1]):
            sent = [
                origins.as_tool(tool) for origins, tool in zip((values.old, values.new), tools, strict=True) if tool
            ]
            if sent[0] != sent[1]:
                what = f"{spot.label}: it may do another thing with what a person approves: {difference(*sent)}"
                findings.say("approval-weakened", what, spot, may=True)


def _is_approval(read: KeyRead, step: StepView, ref: str) -> bool:
    below = read.place[len(step.path) :]
    if below[:2] != ("agent", "tools") or below[-1] != "approval" or read.key == "args":
        return False
    return any(index == below[2] and name == ref for index, name, _ in tool_entries(step))
