"""Which keys are there at each place of a workflow: on every way, on some way, on none."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from operator import or_

from tuvl.analysis.flow_graph import ALL, Edge, FlowGraph, Place, flow_graph
from tuvl.analysis.graph import RouteGraph
from tuvl.analysis.object_keys import ObjectKeys
from tuvl.analysis.presence import shown_present
from tuvl.analysis.spread import spread
from tuvl.analysis.steps import mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.witness import shortest
from tuvl.dataclass import dataclass
from tuvl.spec.signals import ERROR


@dataclass(frozen=True)
class KeyFlow:
    """The flow of keys through one workflow."""

    graph: FlowGraph
    input: ObjectKeys
    """What `spec.input` says of the keys a run begins with."""
    lacking: list[int | None]
    """Place → keys that are missing on some way to it."""
    possible: list[int | None]
    """Place → keys that are there on some way to it."""
    proven: Sequence[Mapping[str, int]]
    """Place → signal → keys without which a run does not leave there by it."""
    more: int
    """The key that stands for those that steps may write and no list names."""

    def lacks(self, place: int, keys: int) -> int:
        """Those of the keys that may be missing when a run comes to a place; none where no run comes."""
        return (self.lacking[place] or 0) & keys

    def never(self, place: int, key: int) -> bool:
        """Whether no way to the place brings the key, as far as lists tell."""
        return not (self.possible[place] or 0) & key

    def surely_never(self, place: int, name: str) -> bool:
        """Whether no way to the place can bring the key, unknown input and unknown writes included."""
        unknown = (self.possible[place] or 0) & self.more
        return self.never(place, self.graph.keys.bit(name)) and not unknown and not self.input.may_have(name)

    @cached_property
    def written(self) -> int:
        """Keys that some step of the workflow writes."""
        united = 0
        for edges in self.graph.edges:
            for edge in edges:
                if edge.signal:
                    united |= edge.maybe | max(edge.sure, 0)
        return united

    def brings(self, edge: Edge) -> int:
        """Keys that are there after an edge, whatever came before."""
        return _brings(edge, self.proven)

    def way_without(self, place: int, key: int) -> tuple[Edge, ...] | None:
        """A shortest way to a place on which nothing brings a key."""
        return shortest(self.graph, place, lambda edge: not self.brings(edge) & key)


def _brings(edge: Edge, proven: Sequence[Mapping[str, int]]) -> int:
    return edge.sure | proven[edge.source].get(edge.signal, 0)


def key_flow(routes: RouteGraph, project: Surroundings) -> KeyFlow | None:
    """Follow the keys through a workflow; `None` when it has no beginning, or is too tangled to tell."""
    graph = flow_graph(routes, project)
    if not graph.places:
        return None
    given = ObjectKeys(mapping(routes.workflow.spec.get("input")))
    keys = graph.keys
    for place in graph.places:
        keys.bits({read.key for read in place.reads})
    output = text(routes.workflow.spec.get("output"))
    if output:
        keys.bit(output.split(".")[0])
    more = keys.bit("\0more")
    begins_with = keys.bits(given.named)
    surely = keys.bits(given.required)
    everything = (1 << len(keys.names)) - 1
    possible = spread(
        graph,
        {0: begins_with},
        lambda edge, some: some | edge.maybe | (edge.sure if edge.sure != ALL else 0) | (more if edge.more else 0),
    )
    if possible is None:
        return None

    def may_be_there(place: Place, name: str) -> bool:
        return bool((possible[place.index] or 0) & (keys.known(name) | more)) or given.may_have(name)

    proven = [_proven(place, graph, may_be_there) for place in graph.places]
    lacking = spread(graph, {0: everything & ~surely}, lambda edge, lack: lack & ~_brings(edge, proven))
    return None if lacking is None else KeyFlow(graph, given, lacking, possible, proven, more)


def _proven(place: Place, graph: FlowGraph, may_be_there: Callable[[Place, str], bool]) -> dict[str, int]:
    """Keys that were there when a run leaves a place, signal by signal."""
    # A step that read a key for sure and did not fail has proven that the key was there.
    needed = graph.keys.bits({read.key for read in place.reads if read.need == "always"})
    proven = {edge.signal: needed for edge in graph.edges[place.index] if edge.signal not in ("", ERROR)}
    for signal, names in shown_present(place.step).items() if not place.called else ():
        # What asks for a key that can never be there is a mistake, and so is what reads it behind that.
        shown = (graph.keys.known(name) for name in names if may_be_there(place, name))
        proven[signal] = reduce(or_, shown, proven.get(signal, 0))
    return proven
