"""What a workflow may do otherwise because it is given other values: by the step that runs it, or by its schedule.

The workflow is compared with itself, as if its first step set what is given otherwise: so everything counts that would
count if the values were changed inside of it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import Any

from tuvl.analysis.graph import route_graph
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.changes.change import CODES, GRAVE, Change
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.provenance import MADE, Links, keys_of
from tuvl.changes.renames import StepPairs, pair_steps
from tuvl.changes.revalued import Origins, Values
from tuvl.changes.site import Doc
from tuvl.dataclass import dataclass
from tuvl.values import canonical

_DEEPEST = 8
"""Workflows inside each other that are looked into."""

_GIVER = "what it is given"
"""Id of the step that sets what is given; no step of a file can have such an id."""


@dataclass(frozen=True)
class Within:
    """The workflows inside which one is looked at, and what was found of any so far."""

    names: tuple[str, ...] = ()
    found: dict[tuple[str, tuple[str, ...]], tuple[Change, ...]] = field(default_factory=dict)


Compare = Callable[[Findings, StepPairs, tuple[WorkflowFacts, WorkflowFacts], Within], None]


def compare_handed(findings: Findings, values: Values, compare: Compare, within: Within) -> None:
    """Tell of steps that give the workflow they run other values than they did, where it may do otherwise by them."""
    if values.are_same:
        return
    for before, after in values.pairs.matched:
        name = text(after.data.get("workflow"))
        if after.kind == before.kind == "Workflow" and name and name == before.data.get("workflow"):
            document = values.new.facts.index.find("Workflow", name)
            keys = tuple(_given_otherwise(values, before, after))
            if document is not None and keys:
                doc = Doc(findings.new.side, document, mapping(document.data))
                spot = Spot(before.path, after.path, "", after.id).at("input")
                _tell(findings, spot, doc, keys, compare, within)


def compare_scheduled(findings: Findings, compare: Compare) -> None:
    """Tell of a schedule that starts the workflow with other values, where it may do otherwise by them."""
    was, now = (mapping(doc.spec.get("trigger")) for doc in (findings.old, findings.new))
    if was.get("schedule") and now.get("schedule"):
        given = mapping(was.get("input")), mapping(now.get("input"))
        keys = tuple(_written_otherwise(*given))
        path = ("spec", "trigger", "input")
        if keys:
            _tell(findings, Spot(path, path, "trigger.input"), findings.new, keys, compare, Within())


def _tell(findings: Findings, spot: Spot, doc: Doc, keys: tuple[str, ...], compare: Compare, within: Within) -> None:
    if doc.name in within.names or len(within.names) >= _DEEPEST:
        return
    known = (doc.name, keys)
    if known not in within.found:
        inner = Within((*within.names, doc.name), within.found)
        within.found[known] = tuple(_done_otherwise(doc, keys, compare, inner))
    listed = ", ".join(map(repr, keys))
    for change in within.found[known]:
        given = f"workflow {doc.name!r} is given another {listed}, by which it may do otherwise"
        said = f"{given}: {_in_words(change.message)}"
        findings.say(change.code, said, spot, shown=(None, change.after), may=True)


def _in_words(message: str) -> str:
    return message.replace(f"step {_GIVER!r} makes", "who runs it makes").replace(f"step {_GIVER!r}", "who runs it")


def _done_otherwise(doc: Doc, keys: tuple[str, ...], compare: Compare, within: Within) -> Iterator[Change]:
    """Yield what a workflow may do by other values of its keys, as far as it is grave."""
    old, new = (Doc(doc.side, doc.document, _with_first(doc, keys, value)) for value in ("was", "is"))
    pairs = pair_steps(WorkflowView(old.data), WorkflowView(new.data))
    facts = (WorkflowFacts(pairs.old, doc.side.index), WorkflowFacts(pairs.new, doc.side.index))
    findings = Findings(old, new, workflow=doc.name)
    compare(findings, pairs, facts, within)
    yield from (change for change in findings.changes if CODES[change.code].cls in GRAVE)


def _with_first(doc: Doc, keys: tuple[str, ...], value: str) -> Mapping[str, Any]:
    """A workflow that begins with a step that sets keys."""
    entry = route_graph(WorkflowView(doc.data), doc.side.index).entry
    first = {"id": _GIVER, "kind": "Functional", "runner": "set", "values": dict.fromkeys(keys, value)}
    steps = [{**first, "routes": {"default": entry}} if entry else first, *items(doc.spec.get("steps"))]
    return {**doc.data, "spec": {**doc.spec, "steps": steps}}


def _given_otherwise(values: Values, before: StepView, after: StepView) -> Iterator[str]:
    """Yield keys whose values are written otherwise, or may come from elsewhere."""
    was, now = (mapping(step.get("input")) for step in (before, after))
    otherwise = set(_written_otherwise(was, now))
    yield from sorted(otherwise)
    for name in now:
        if name not in otherwise:
            links = values.both(partial(_origins, step=after, name=name))
            if all(links) and links[0] != links[1]:
                yield name


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
    return frozenset(_of_items(origins, link) for link in found)


def _of_items(origins: Origins, link: tuple[str, str, str]) -> tuple[str, str, str]:
    """A link, of which an item of a list is what `items` says, whatever is done with it."""
    if link[1] == MADE:
        for step in origins.facts.view.steps:
            item = text(step.data.get("as")) or "item"
            if step.kind == "ForEach" and link[0] in (f"step {step.id!r} makes {key!r}" for key in (item, "args")):
                return (link[0], MADE, canonical(step.data.get("items")))
    return link
