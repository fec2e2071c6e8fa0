"""Where values that go into `secure` fields are in the context: before they are stored, after that, and as copies.

They are followed back from the records that they go into, and from all the places on that way onward again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property

from tuvl.analysis.flow_graph import ALL, Edge, Place
from tuvl.analysis.graph import route_graph
from tuvl.analysis.inside import inside
from tuvl.analysis.key_flow import KeyFlow, key_flow
from tuvl.analysis.schema_facts import pointed
from tuvl.analysis.secret_paths import (
    Move,
    Secret,
    came_from,
    goes_to,
    is_item,
    item_moves,
    leaves,
    moves_of,
    stored_by,
)
from tuvl.analysis.signals import FAILURES
from tuvl.analysis.spread import spread
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.dataclass import dataclass

_DEEPEST = 8
"""Workflows inside each other, and alternatives of a schema inside each other, that are looked into."""

_Hand = Callable[[Secret, Move], Secret | None]


@dataclass(frozen=True)
class Vaults:
    """The data models of a project as far as they have secure fields, and the workflows that were followed."""

    project: Surroundings
    flows: dict[str, "SecretFlow | None"] = field(default_factory=dict)

    def secure(self, model: str) -> frozenset[str]:
        """The secure fields of a data model."""
        document = self.project.data_model(model) if model else None
        spec = mapping(mapping(document.data if document is not None else None).get("spec"))
        fields = map(mapping, items(spec.get("fields")))
        return frozenset(str(each.get("name")) for each in fields if each.get("secure") is True)

    def stores(self, view: WorkflowView) -> bool:
        """Whether a workflow, or one that it runs, puts anything into secure fields."""
        views = [view]
        for step in view.steps:
            if step.kind == "Workflow":
                views += inside(text(step.data.get("workflow")), self.project) or ()
        return any(True for each in views for step in each.steps for _ in stored_by(step, self.secure))

    def inner(self, step: StepView, within: tuple[str, ...]) -> "SecretFlow | None":
        """The workflow that a step runs; `None` where it runs none, or one that cannot be followed."""
        name = text(step.data.get("workflow")) or "" if step.kind == "Workflow" else ""
        if not name or name in within or len(within) >= _DEEPEST:
            return None
        if name not in self.flows:
            document = self.project.workflow(name)
            view = WorkflowView(mapping(document.data)) if document is not None else None
            keys = key_flow(route_graph(view, self.project), self.project) if view is not None else None
            self.flows[name] = SecretFlow(keys, self, (*within, name)) if keys is not None else None
        return self.flows[name]


class SecretFlow:
    """The secrets of one workflow, place by place."""

    def __init__(self, keys: KeyFlow, vaults: Vaults, within: tuple[str, ...]) -> None:
        """Lay out what the steps hand on; `within` are the workflows that this one is run by, and itself."""
        self.keys = keys
        self.graph = keys.graph
        self.vaults = vaults
        self.within = within
        self._secrets: list[Secret] = []
        self._bits: dict[Secret, int] = {}
        workflow = self.graph.workflow
        self._done = [tuple(moves_of(place.step, workflow, vaults.secure)) for place in self.graph.places]
        self._items = {place.index: item_moves(place.step) for place in self.graph.places if _is_list(place)}

    @cached_property
    def needed(self) -> list[frozenset[Secret]]:
        """Place → what goes into a secure field on some way from there."""
        starts = {place.index: self._set(self._stored(place)) for place in self.graph.places}
        found = spread(self.graph, {place: each for place, each in starts.items() if each}, self._back, backwards=True)
        return [frozenset(self._listed(each or 0)) for each in found or [0] * (self.graph.end + 1)]

    @cached_property
    def held(self) -> list[frozenset[Secret]]:
        """Place → what goes, or has gone, into a secure field, with all copies of it."""
        starts: dict[int, Iterable[Secret]] = {index: each for index, each in enumerate(self.needed) if each}
        if starts:
            starts[0] = (*starts.get(0, ()), *self._named_by_input())
        return self.onward(starts)

    def onward(self, starts: Mapping[int, Iterable[Secret]]) -> list[frozenset[Secret]]:
        """Place → where secrets have come to that are at some places."""
        bits = {place: self._set(secrets) for place, secrets in starts.items() if place < self.graph.end}
        found = spread(self.graph, bits, self._forth) if any(bits.values()) else None
        return [frozenset(self._listed(each or 0)) for each in found or [0] * (self.graph.end + 1)]

    def given(self, place: Place) -> tuple[Move, ...]:
        """What a step hands to the workflow that it runs."""
        return tuple(
            move for key, value in mapping(place.step.data.get("input")).items() for move in leaves(value, (key,))
        )

    def _stored(self, place: Place) -> Iterator[Secret]:
        yield from stored_by(place.step, self.vaults.secure)
        child = self.vaults.inner(place.step, self.within)
        if child is not None and child.graph.places:
            yield from _handed(child.needed[0], self.given(place), came_from)

    def _named_by_input(self) -> Iterator[Secret]:
        """Fields of records that the input names, so that they are no guess."""
        schema = self.graph.workflow.spec.get("input")
        for secret in self.needed[0]:
            if secret.held == "maybe" and _names(schema, schema, secret.path, _DEEPEST):
                yield secret._replace(held="whole")

    def _moves(self, edge: Edge) -> tuple[Move, ...]:
        if edge.signal:
            return () if edge.signal in FAILURES else self._done[edge.source]
        return self._items.get(edge.source, ())

    def _kept(self, edge: Edge, secrets: int) -> Iterator[Secret]:
        """Secrets that an edge leaves where they are: those of keys that are not written on it."""
        gone = edge.sure if edge.sure != ALL else 0
        keys = self.graph.keys
        return (secret for secret in self._listed(secrets) if not gone & keys.known(secret.path[0]))

    def _back(self, edge: Edge, ahead: int) -> int:
        moved = _handed(self._listed(ahead), self._moves(edge), came_from)
        return self._set((*self._kept(edge, ahead), *moved))

    def _forth(self, edge: Edge, here: int) -> int:
        moved = _handed(self._listed(here), self._moves(edge), goes_to)
        return self._set((*self._kept(edge, here), *moved))

    def _set(self, secrets: Iterable[Secret]) -> int:
        united = 0
        for secret in secrets:
            bit = self._bits.get(secret)
            if bit is None:
                bit = self._bits[secret] = 1 << len(self._secrets)
                self._secrets.append(secret)
            united |= bit
        return united

    def _listed(self, secrets: int) -> Iterator[Secret]:
        while secrets:
            lowest = secrets & -secrets
            yield self._secrets[lowest.bit_length() - 1]
            secrets ^= lowest


def _handed(secrets: Iterable[Secret], moves: tuple[Move, ...], hand: _Hand) -> Iterator[Secret]:
    if moves:
        for secret in secrets:
            yield from (found for move in moves if (found := hand(secret, move)) is not None)


def handed_in(secrets: Iterable[Secret], moves: tuple[Move, ...]) -> frozenset[Secret]:
    """What secrets are called where they have been handed on."""
    return frozenset(_handed(secrets, moves, goes_to))


def _is_list(place: Place) -> bool:
    return place.step.kind == "ForEach"


def _names(root: object, schema: object, path: tuple[str, ...], depth: int) -> bool:
    """Whether a schema names what a path leads to, itself or by one of its alternatives."""
    known = mapping(schema)
    if not path or not known or depth == 0:
        return not path
    first, rest = path[0], path[1:]
    parts = [mapping(known.get("properties")).get(first)]
    if is_item(first):
        parts.append(known.get("items"))
    if any(part is not None and _names(root, part, rest, depth) for part in parts):
        return True
    reference = text(known.get("$ref"))
    found = pointed(root, reference) if reference else None
    others = [found[0]] if found is not None else []
    others += [each for keyword in ("allOf", "anyOf", "oneOf") for each in items(known.get(keyword))]
    return any(_names(root, each, path, depth - 1) for each in others)
