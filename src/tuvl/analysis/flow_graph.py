"""The workflow as places between which context keys flow: steps of the spine, and steps that others call.

A set of keys is one whole number, a bit a key, so that a set costs next to nothing to unite, cut and keep.
"""

from collections.abc import Iterator

from tuvl.analysis.exit_writes import NOTHING, Writes, exit_writes
from tuvl.analysis.graph import RouteGraph
from tuvl.analysis.key_reads import KeyRead, key_reads, reads_everything
from tuvl.analysis.parameters import ToolUse, tool_uses
from tuvl.analysis.steps import END, StepView, WorkflowView, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.dataclass import dataclass

ALL = -1
"""The set of all keys."""


class KeyTable:
    """Numbers the keys of a workflow in the order they are met."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._bits: dict[str, int] = {}

    def bit(self, name: str) -> int:
        """The set of this one key."""
        found = self._bits.get(name)
        if found is None:
            found = self._bits[name] = 1 << len(self.names)
            self.names.append(name)
        return found

    def known(self, name: str) -> int:
        """The set of this one key if it has been met, else of none."""
        return self._bits.get(name, 0)

    def bits(self, names: "frozenset[str] | set[str] | tuple[str, ...]") -> int:
        """The set of these keys."""
        united = 0
        for name in names:
            united |= self.bit(name)
        return united

    def listed(self, keys: int) -> list[str]:
        """Names of the keys of a set, in the order they were met."""
        keys &= (1 << len(self.names)) - 1
        found = []
        while keys:
            lowest = keys & -keys
            found.append(self.names[lowest.bit_length() - 1])
            keys ^= lowest
        return found


@dataclass(frozen=True, slots=True)
class Place:
    """One step in one role: run by a route, or called by another step."""

    index: int
    step: StepView
    called: bool
    """Whether others call it, as a tool, a body or a helper."""
    reads: tuple[KeyRead, ...]
    reads_all: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """One way from place to place, and the keys that are written on it."""

    source: int
    target: int
    """A place, or `FlowGraph.end`."""
    signal: str
    """Signal of the route; empty for a call."""
    sure: int
    maybe: int
    more: bool
    """Whether other keys may be written that no list names."""


@dataclass(frozen=True)
class FlowGraph:
    """The places a run can come to, the entry first, and the edges between them."""

    routes: RouteGraph
    keys: KeyTable
    places: tuple[Place, ...]
    edges: tuple[tuple[Edge, ...], ...]
    """Edges by the place they come from."""

    @property
    def workflow(self) -> WorkflowView:
        """The workflow it is of."""
        return self.routes.workflow

    @property
    def end(self) -> int:
        """The place after the last: a routed end of the run."""
        return len(self.places)


def flow_graph(routes: RouteGraph, project: Surroundings) -> FlowGraph:
    """Lay out the places of a workflow."""
    return _Builder(routes, project).build()


class _Builder:
    def __init__(self, routes: RouteGraph, project: Surroundings) -> None:
        self.routes = routes
        self.project = project
        self.keys = KeyTable()
        self.places: list[Place] = []
        self.edges: list[tuple[Edge, ...]] = []
        self._index: dict[tuple[str, bool], int] = {}
        self._waiting: list[int] = []
        self._reads: dict[str, tuple[KeyRead, ...]] = {}
        self._helpers: dict[str, list[str]] = {}
        for reference in routes.references:
            if reference.role == "agent helper" and reference.target in routes.steps:
                self._helpers.setdefault(reference.owner, []).append(reference.target)

    def build(self) -> FlowGraph:
        if self.routes.entry is not None:
            self._place(self.routes.entry, called=False)
        done = 0
        while done < len(self._waiting):
            self.edges.append(tuple(self._edges_of(self.places[self._waiting[done]])))
            done += 1
        end = len(self.places)
        edges = tuple(
            tuple(_ended(edge, end) if edge.target < 0 else edge for edge in from_place) for from_place in self.edges
        )
        return FlowGraph(self.routes, self.keys, tuple(self.places), edges)

    def _place(self, step_id: str, *, called: bool) -> int:
        known = self._index.get((step_id, called))
        if known is not None:
            return known
        step = self.routes.steps[step_id]
        if step_id not in self._reads:
            self._reads[step_id] = tuple(key_reads(step, self.project))
        index = len(self.places)
        self._index[(step_id, called)] = index
        reads_all = reads_everything(step, self.project)
        self.places.append(Place(index, step, called, self._reads[step_id], reads_all))
        self._waiting.append(index)
        return index

    def _edges_of(self, place: Place) -> Iterator[Edge]:
        step = place.step
        if not place.called:
            writes = exit_writes(step, self.routes.workflow, self.project)
            sets: dict[int, tuple[int, int]] = {}
            for signal, target in self.routes.taken(step.id).items():
                on_exit = writes.on(signal)
                if id(on_exit) not in sets:
                    sets[id(on_exit)] = self._sets(on_exit)
                sure, maybe = sets[id(on_exit)]
                index = -1 if target == END else self._place(target, called=False)
                yield Edge(place.index, index, signal, sure, maybe, on_exit.more)
        yield from self._calls_of(place)

    def _sets(self, writes: Writes) -> tuple[int, int]:
        maybe = self.keys.bits(writes.maybe)
        return (ALL if writes.anything else self.keys.bits(writes.sure)), maybe | self.keys.bits(writes.sure)

    def _calls_of(self, place: Place) -> Iterator[Edge]:
        step = place.step
        if step.kind == "ForEach":
            body = text(step.data.get("step"))
            if body is not None and body in self.routes.steps:
                names = frozenset({text(step.data.get("as")) or "item", "args"})
                yield self._call(place, body, self.keys.bits(names), NOTHING)
        elif step.kind == "Agent":
            yield from self._calls_of_agent(place)

    def _calls_of_agent(self, place: Place) -> Iterator[Edge]:
        step, workflow = place.step, self.routes.workflow
        written = exit_writes(step, workflow, self.project).failed
        for use in tool_uses(step, workflow):
            yield self._call(place, use.ref, self._arguments(use), written)
        for helper in self._helpers.get(step.id, ()):
            yield self._call(place, helper, ALL, NOTHING)

    def _arguments(self, use: ToolUse) -> int:
        """Keys that the call itself brings: all of them when the model may give any argument."""
        if not use.declared and use.step.kind not in ("APICall", "MCP", "ModelOp"):
            return ALL
        return self.keys.bits((*use.names, "args"))

    def _call(self, place: Place, target: str, given: int, written: Writes) -> Edge:
        _, maybe = self._sets(written)
        if written.anything:
            given = ALL
        return Edge(place.index, self._place(target, called=True), "", given, maybe | max(given, 0), written.more)


def _ended(edge: Edge, end: int) -> Edge:
    return Edge(edge.source, end, edge.signal, edge.sure, edge.maybe, edge.more)
