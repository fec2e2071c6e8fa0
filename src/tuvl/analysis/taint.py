"""Which keys may hold untrusted text at each place of a workflow, and how it came there."""

from collections.abc import Callable
from functools import cached_property, partial

from tuvl.analysis.flow_graph import ALL, Edge, FlowGraph, Place
from tuvl.analysis.key_flow import KeyFlow
from tuvl.analysis.parameters import tool_uses
from tuvl.analysis.schema_facts import is_closed, part_of
from tuvl.analysis.signals import FAILURES
from tuvl.analysis.spread import spread
from tuvl.analysis.steps import StepView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.untrusted_failures import QUOTING, failure_spills
from tuvl.analysis.untrusted_sources import Spill, open_inputs, spills
from tuvl.analysis.witness import shortest, shown
from tuvl.dataclass import dataclass
from tuvl.spec.signals import DEFAULT

WHOLE_INPUT = "\0input"
"""Stands for the input of a workflow that does not say which keys it has."""

_DEEPEST = 6


@dataclass(frozen=True, slots=True)
class _Spilt:
    """What one place adds when it is done, or when it fails: keys with text from outside, and keys made of others."""

    dirty: int
    copies: tuple[tuple[int, int], ...]
    """Key, and the keys of which any makes it untrusted."""

    def added(self, keys: int) -> int:
        """The keys that are untrusted now, after these were before."""
        added = self.dirty
        for key, sources in self.copies:
            if keys & sources:
                added |= key
        return added


@dataclass(frozen=True)
class Taint:
    """Untrusted text in one workflow."""

    flow: KeyFlow
    dirty: list[int]
    """Place → keys that may hold untrusted text there."""
    inputs: int
    """Keys of the input that may."""
    spills: dict[int, tuple[Spill, ...]]
    """Place → what it writes."""
    spilt: dict[int, _Spilt]
    failed: dict[int, _Spilt]
    arguments: dict[tuple[int, int], int]
    """Caller and called place → arguments that a model fills with free text."""
    schemas: dict[str, tuple[object, ...]]
    """Key → schemas of all that writes it, where each writer has one."""

    def along(self, edge: Edge, keys: int) -> int:
        """The untrusted keys after an edge."""
        if not edge.signal:
            return keys | self.arguments.get((edge.source, edge.target), 0)
        step = self.flow.graph.places[edge.source].step
        kept = keys if edge.sure == ALL else keys & ~edge.sure
        if edge.signal in FAILURES:
            return kept | self.failed[edge.source].added(keys) if edge.signal in QUOTING else kept
        added = self.spilt[edge.source].added(keys)
        if step.kind == "HumanInTheLoop":
            return added  # a person has seen what there was
        if step.kind == "Router":
            kept &= ~_decided(step, edge.signal, self.flow.graph)
        return kept | added

    def reads_dirty(self, place: int, path: tuple[str, ...]) -> bool:
        """Whether a dotted read may give untrusted text at a place."""
        graph = self.flow.graph
        bit = graph.keys.bit(path[0])
        whole = graph.keys.bit(WHOLE_INPUT)
        if not self.dirty[place] & bit and not (self.dirty[place] & whole and self._from_input(path[0], bit)):
            return False
        schemas = self.schemas.get(path[0])
        return not schemas or not all(is_closed(part_of(schema, path[1:])) for schema in schemas)

    def _from_input(self, name: str, bit: int) -> bool:
        return not self.flow.written & bit and name != "args" and not name.startswith("_")

    @cached_property
    def _written_by(self) -> dict[str, list[tuple[int, Spill]]]:
        found: dict[str, list[tuple[int, Spill]]] = {}
        for place, written in self.spills.items():
            for spill in written:
                found.setdefault(spill.key, []).append((place, spill))
        return found

    @cached_property
    def _set_aside(self) -> int:
        """Keys that belong to the engine, and those that hold nothing but what a person has typed."""
        keys = self.flow.graph.keys
        typed = {name for name, by in self._written_by.items() if all(spill.kind == "person" for _, spill in by)}
        reserved = {name for name in keys.names if name.startswith("_")}
        return keys.bits(typed | reserved) & ~self.inputs

    def from_outside(self, place: int, first: list[str]) -> str | None:
        """A key with a stranger's text at a place, one of the `first` if it can be."""
        keys = self.flow.graph.keys
        dirty = self.dirty[place] & ~self._set_aside
        for name in first:
            if dirty & keys.bit(name):
                return name
        whole = keys.bit(WHOLE_INPUT)
        if dirty & whole:
            # Of an input that nobody describes, only what the agent names is known to be there.
            reads = self.flow.graph.places[place].reads
            if any(self._from_input(read.key, keys.bit(read.key)) for read in reads):
                return WHOLE_INPUT
            dirty &= ~whole
        arguments = keys.bit("args")
        dirty = dirty & ~arguments or dirty
        return keys.names[(dirty & -dirty).bit_length() - 1] if dirty else None

    def said(self, name: str) -> str:
        """How a message calls a key that holds untrusted text."""
        of_input = bool(self.inputs & self.flow.graph.keys.bit(name))
        return "the input" if name == WHOLE_INPUT else f"{name!r} of the input" if of_input else repr(name)

    def trace(self, place: int, name: str) -> str:
        """How untrusted text comes to a place in a key: its source, then the steps on the way."""
        return self._trace(place, name, _DEEPEST)

    def _trace(self, place: int, name: str, depth: int) -> str:
        graph = self.flow.graph
        bit = graph.keys.bit(name)

        def keeps(edge: Edge) -> bool:
            return bool(self.along(edge, bit) & bit)

        if self.inputs & bit:
            way = shortest(graph, place, keeps)
            if way is not None:
                return f"{self.said(name)} → {shown(graph, way)}"
        for source, spill in self._written_by.get(name, ()):
            way = shortest(graph, place, partial(_leaves_or, source, spill.failing, keeps), start=source)
            if way is None:
                continue
            before = self._copied_from(source, spill, depth)
            if before is not None:
                return f"{before}{shown(graph, way, start=source)}"
        return f"{name!r} → {graph.places[place].step.id}"

    def _copied_from(self, source: int, spill: Spill, depth: int) -> str | None:
        step = self.flow.graph.places[source].step
        if spill.kind != "copy":
            what = "the failure" if spill.failing else _CALLED.get(spill.kind, "text")
            return f"{what} in {spill.key!r} of {step.kind} → "
        dirty = [path[0] for path in spill.sources if self.reads_dirty(source, path)]
        if not dirty or depth == 0:
            return None
        told = self._trace(source, dirty[0], depth - 1)
        return told.removesuffix(step.id)


_CALLED = {"reply": "the reply", "answer": "the answer", "person": "what a person types"}


def _leaves_or(source: int, failing: bool, keeps: Callable[[Edge], bool], edge: Edge) -> bool:
    """Whether an edge carries what `source` has written, done or `failing`: it leaves there, or keeps what it gets."""
    leaves = edge.signal in QUOTING if failing else edge.signal not in FAILURES
    return (edge.source == source and leaves) or keeps(edge)


def _decided(step: StepView, signal: str, graph: FlowGraph) -> int:
    """Keys whose value is known once a router has left by a signal."""
    field = text(step.get("match", "field"))
    if field is not None and "match" in step.data:
        known = signal != DEFAULT
    else:
        field = text(step.get("condition", "field"))
        operator = step.get("condition", "operator")
        known = (operator in ("eq", "in") and signal == "true") or (operator == "neq" and signal == "false")
        known = known or (operator in ("is_empty", "is_not_empty") and (signal == "true") == (operator == "is_empty"))
    return graph.keys.bit(field) if field and known and "." not in field else 0


def taint_of(flow: KeyFlow, project: Surroundings) -> Taint | None:
    """Follow untrusted text through a workflow; `None` when it is too tangled to tell."""
    graph, keys = flow.graph, flow.graph.keys
    run = [place for place in graph.places if not place.called]
    done = {place.index: tuple(spills(place.step, place.reads, graph.workflow, project)) for place in run}
    told = {place.index: tuple(failure_spills(place.step, place.reads, graph.workflow, project)) for place in run}
    written = {index: done[index] + told[index] for index in done}
    inputs = open_inputs(graph.workflow.spec)
    schemas = _schemas(written, graph, inputs)
    begin = keys.bit(WHOLE_INPUT) if inputs is None else keys.bits(frozenset(inputs))
    taint = Taint(
        flow=flow,
        dirty=[],
        inputs=begin,
        spills=written,
        spilt={place: _spilt(each, flow, schemas, unsaid=inputs is None) for place, each in done.items()},
        failed={place: _spilt(each, flow, schemas, unsaid=inputs is None) for place, each in told.items()},
        arguments=_arguments(graph),
        schemas=schemas,
    )
    found = spread(graph, {0: begin}, taint.along)
    if found is None:
        return None
    taint.dirty.extend(each or 0 for each in found)
    return taint


def _schemas(
    written: dict[int, tuple[Spill, ...]], graph: FlowGraph, inputs: dict[str, object] | None
) -> dict[str, tuple[object, ...]]:
    """Schemas of the keys of which every writer has one."""
    given = mapping(mapping(graph.workflow.spec.get("input")).get("properties"))
    found: dict[str, list[object]] = {name: [schema] for name, schema in given.items()}
    blind: set[str] = set()
    for each in written.values():
        for spill in each:
            if spill.schema is None:
                blind.add(spill.key)
            else:
                found.setdefault(spill.key, []).append(spill.schema)
    return {name: tuple(schemas) for name, schemas in found.items() if name not in blind}


def _spilt(
    written: tuple[Spill, ...], flow: KeyFlow, schemas: dict[str, tuple[object, ...]], *, unsaid: bool
) -> _Spilt:
    keys = flow.graph.keys
    dirty = 0
    copies: list[tuple[int, int]] = []
    for spill in written:
        if spill.kind != "copy":
            dirty |= keys.bit(spill.key)
            continue
        sources = 0
        for path in spill.sources:
            known = schemas.get(path[0])
            if known and all(is_closed(part_of(schema, path[1:])) for schema in known):
                continue
            bit = keys.bit(path[0])
            # Without `spec.input` a key that no step writes is the input's.
            sources |= keys.bit(WHOLE_INPUT) if unsaid and not flow.written & bit else bit
        if sources:
            copies.append((keys.bit(spill.key), sources))
    return _Spilt(dirty, tuple(copies))


def _arguments(graph: FlowGraph) -> dict[tuple[int, int], int]:
    found: dict[tuple[int, int], int] = {}
    called = {place.step.id: place.index for place in graph.places if place.called}
    for place in graph.places:
        for use in tool_uses(place.step, graph.workflow) if place.step.kind == "Agent" else ():
            known = mapping(use.parameters.get("properties"))
            free = [name for name in use.names if not is_closed(known.get(name))]
            if free or not use.declared:
                found[(place.index, called[use.ref])] = graph.keys.bits((*free, "args"))
    return found


def agents(graph: FlowGraph) -> list[Place]:
    """The agents that a run can come to, in the order of the file, each in each of its roles."""
    found = [place for place in graph.places if place.step.kind == "Agent"]
    return sorted(found, key=lambda place: (place.step.index, place.called))


def injected(step: StepView) -> list[str]:
    """Keys that the agent is given as delimited, untrusted content."""
    return [name for name in items(step.agent.get("context_injection")) if isinstance(name, str)]
