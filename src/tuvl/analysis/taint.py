"""Which keys may hold untrusted text at each place of a workflow, and how it came there."""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property, partial

from tuvl.analysis.answered import is_answer
from tuvl.analysis.flow_graph import ALL, Edge, FlowGraph, Place
from tuvl.analysis.key_flow import KeyFlow
from tuvl.analysis.key_reads import KeyRead
from tuvl.analysis.signals import FAILURES
from tuvl.analysis.spill import OTHERS, Path, Spill, When, named, read_key
from tuvl.analysis.spread import spread
from tuvl.analysis.steps import StepView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.taint_rules import Layers, Rules, Writers, rules_of
from tuvl.analysis.untrusted_failures import QUOTING, failure_spills
from tuvl.analysis.untrusted_sources import item_spills, open_inputs, spills
from tuvl.analysis.witness import shortest, shown
from tuvl.dataclass import dataclass
from tuvl.spec.signals import DEFAULT

_DEEPEST = 6
_PLAIN = Rules()


@dataclass(frozen=True)
class Taint:
    """Untrusted text in one workflow."""

    flow: KeyFlow
    layers: Layers
    writers: Writers
    inputs: int
    """Keys of the input that may hold it."""
    rules: dict[tuple[int, When], Rules]
    """Place and time → what its step adds."""
    calls: dict[tuple[int, int], Rules]
    """Caller and called place → what the call adds."""
    dirty: list[int]
    """Place → keys that may hold untrusted text there, in layers."""

    def along(self, edge: Edge, keys: int) -> int:
        """The untrusted keys after an edge."""
        step = self.flow.graph.places[edge.source].step
        # What tools have written is there on every exit, and for all that is called meanwhile.
        here = self.rules.get((edge.source, "running"), _PLAIN).spread(keys)
        if not edge.signal:
            call = self.calls.get((edge.source, edge.target), _PLAIN)
            return here & ~self.layers.every(call.anew) | call.added(here)
        kept = here if edge.sure == ALL else here & ~self.layers.every(edge.sure)
        if is_answer(step, edge.signal):  # a person has seen what there was
            return self.rules.get((edge.source, "done"), _PLAIN).added(here)
        if edge.signal in FAILURES:
            failed = self.rules.get((edge.source, "failed"), _PLAIN)
            return kept | (failed.added(here) if edge.signal in QUOTING else 0)
        added = self.rules.get((edge.source, "done"), _PLAIN).added(here)
        if step.kind == "Router":
            kept &= ~self.layers.every(_decided(step, edge.signal, self.flow.graph))
        return kept | added

    def reads_stranger(self, place: int, path: Path) -> bool:
        """Whether a dotted read may give text that is known to come from outside."""
        bit, dirty = self.layers.bit(path), self.dirty[place]
        return bool(dirty & self.layers.free(bit) or (dirty & bit and not self.writers.closed(path)))

    def reads_unasked(self, place: int, read: KeyRead) -> bool:
        """Whether a read may give what an input brings that nobody has asked for.

        Where the input names its keys, one that no step writes and that has no default is told as missing.
        """
        bit = self.layers.bit(read.path)
        if not self.dirty[place] & self.layers.unasked(bit):
            return False
        return self.flow.input.is_silent_on(read.key) or read.need == "never" or bool(self.flow.written & bit)

    @cached_property
    def _set_aside(self) -> int:
        """Keys that belong to the engine, and those that hold nothing but what a person has typed."""
        kinds: dict[str, set[str]] = {}
        for _, _, spill in self.writers.all():
            kinds.setdefault(spill.key, set()).add(spill.kind)
        typed = {name for name, by in kinds.items() if by == {"person"}} if OTHERS not in kinds else set[str]()
        reserved = {name for name in self.layers.keys.names if name.startswith("_") or "\0" in name} - {OTHERS}
        return self.layers.keys.bits(typed | reserved) & ~self.inputs

    def from_outside(self, place: int, first: list[str]) -> str | None:
        """A key with a stranger's text at a place, one of the `first` if it can be."""
        keys = self.layers.keys
        dirty = self.layers.flat(self.dirty[place]) & ~self._set_aside
        for name in first:
            if dirty & keys.known(name):
                return name
        # Of what may come unasked, only what the agent names is taken to be there.
        for read in self.flow.graph.places[place].reads:
            if self.reads_unasked(place, read):
                return read.key
        for rather in (self.inputs, keys.known(OTHERS), ~keys.known("args")):
            dirty = dirty & rather or dirty
        return keys.names[(dirty & -dirty).bit_length() - 1] if dirty else None

    def said(self, name: str) -> str:
        """How a message calls a key that holds untrusted text."""
        return f"{named(name)} of the input" if self.inputs & self.layers.keys.known(name) else named(name)

    def trace(self, place: int, path: Path) -> str:
        """How untrusted text comes to a place in a key: its source, then the steps on the way."""
        return self._trace(place, read_key(path)[0], _DEEPEST)

    def _trace(self, place: int, name: str, depth: int) -> str:
        graph, layers = self.flow.graph, self.layers
        bit = layers.keys.known(name)
        known = layers.stranger(bit) & self.dirty[place]
        layered = layers.stranger(bit) if known else layers.unasked(bit)

        def keeps(edge: Edge) -> bool:
            return bool(self.along(edge, layered) & layered)

        if self.inputs & bit or not known:
            way = shortest(graph, place, keeps)
            if way is not None:
                return f"{self.said(name) if known else 'the input'} → {shown(graph, way)}"
        for source, called, spill in self.writers.of(name):
            way = shortest(graph, place, partial(_carries, source, called, spill.when, keeps), start=source)
            if way is not None and (way or source != place):
                before = self._before(source, spill, name, depth)
                if before is not None:
                    return f"{before}{shown(graph, way, start=source)}"
        return f"{named(name)} → {graph.places[place].step.id}"

    def _before(self, source: int, spill: Spill, name: str, depth: int) -> str | None:
        """What comes before the step that writes a key, on the way of the text in it."""
        step = self.flow.graph.places[source].step
        if spill.kind != "copy":
            what = "the failure" if spill.when == "failed" else _CALLED.get(spill.kind, "text")
            within = "" if name == OTHERS else f" in {named(name)}"
            return f"{what}{within} of {step.kind} → "
        dirty = [path for path in spill.sources if self.reads_stranger(source, path) or self._unasked(source, path)]
        if not dirty or depth == 0:
            return None
        return self._trace(source, read_key(dirty[0])[0], depth - 1).removesuffix(step.id)

    def _unasked(self, place: int, path: Path) -> bool:
        return bool(self.dirty[place] & self.layers.unasked(self.layers.bit(path)))


_CALLED = {"reply": "the reply", "answer": "the answer", "person": "what a person types"}


def _carries(source: int, called: int | None, when: When, keeps: Callable[[Edge], bool], edge: Edge) -> bool:
    """Whether an edge carries what `source` has written: it leaves there, or keeps what it gets."""
    leaves = edge.source == source
    match when:
        case "done":
            leaves = leaves and bool(edge.signal) and edge.signal not in FAILURES
        case "failed":
            leaves = leaves and edge.signal in QUOTING
        case "called":
            leaves = leaves and not edge.signal and edge.target == called
        case "running":
            pass
    return leaves or keeps(edge)


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
    return graph.keys.known(field) if field and known and "." not in field else 0


def taint_of(flow: KeyFlow, project: Surroundings) -> Taint | None:
    """Follow untrusted text through a workflow; `None` when it is too tangled to tell."""
    graph = flow.graph
    inputs = open_inputs(graph.workflow.spec)
    properties = mapping(mapping(graph.workflow.spec.get("input")).get("properties"))
    writers = Writers(properties, dict(_writers(graph, project)))
    layers = _layers(flow, writers, properties.keys())
    rules: dict[tuple[int, When], Rules] = {}
    calls: dict[tuple[int, int], Rules] = {}
    work_out = partial(rules_of, layers=layers, writers=writers, asks_nothing=inputs is None)
    for (source, called), each in writers.at.items():
        if called is not None:
            calls[source, called] = work_out(each, anew=_anew(graph, source, each))
            continue
        for when in {spill.when for spill in each}:
            rules[source, when] = work_out([spill for spill in each if spill.when == when])
    named_inputs = graph.keys.bits(frozenset(inputs or ()))
    unasked = graph.keys.bits(frozenset(_unasked_keys(flow, layers, properties.keys())))
    taint = Taint(flow, layers, writers, named_inputs, rules, calls, [])
    found = spread(graph, {0: named_inputs | layers.unasked(unasked)}, taint.along)
    if found is None:
        return None
    taint.dirty.extend(each or 0 for each in found)
    return taint


def _writers(graph: FlowGraph, project: Surroundings) -> Iterator[tuple[tuple[int, int | None], tuple[Spill, ...]]]:
    called = {place.step.id: place.index for place in graph.places if place.called}
    for place in graph.places:
        step = place.step
        written = tuple(spills(step, place.reads, graph.workflow, project))
        if place.called:  # nothing of a called step comes into the context by itself, but its tools may write
            written = tuple(spill for spill in written if spill.when == "running")
        else:
            written += tuple(failure_spills(step, place.reads, graph.workflow, project))
        if written:
            yield (place.index, None), written
        # No tool is an agent, so that what a model gives one as arguments is seen by no other model.
        if step.kind == "ForEach" and text(step.data.get("step")) in called:
            yield (place.index, called[text(step.data.get("step")) or ""]), tuple(item_spills(step, place.reads))


def _layers(flow: KeyFlow, writers: Writers, inputs: Iterable[str]) -> Layers:
    keys = flow.graph.keys
    keys.bits({spill.key for _, _, spill in writers.all()} | {*inputs, "args", OTHERS})
    public = frozenset(name for name in keys.names if not name.startswith("_") and "\0" not in name)
    return Layers(keys, len(keys.names), keys.bits(public))


def _unasked_keys(flow: KeyFlow, layers: Layers, inputs: Collection[str]) -> Iterator[str]:
    """Keys that an input may bring though `spec.input` does not name them."""
    for name in layers.keys.listed(layers.public):
        if name not in inputs and name != "args" and flow.input.may_have(name):
            yield name


def _anew(graph: FlowGraph, source: int, given: tuple[Spill, ...]) -> int:
    """Keys that an item takes the place of; the items of a list around a list stay in sight below `args`."""
    names = {spill.key for spill in given} - ({"args"} if graph.places[source].called else set[str]())
    return graph.keys.bits(names)


def agents(graph: FlowGraph) -> list[Place]:
    """The agents that a run can come to, in the order of the file, each in each of its roles."""
    found = [place for place in graph.places if place.step.kind == "Agent"]
    return sorted(found, key=lambda place: (place.step.index, place.called))


def injected(step: StepView) -> list[str]:
    """Keys that the agent is given as delimited, untrusted content."""
    return [name for name in items(step.agent.get("context_injection")) if isinstance(name, str)]
