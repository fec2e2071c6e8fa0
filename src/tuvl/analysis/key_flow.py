"""Which keys are there at each place of a workflow: on every way, on some way, on none."""

from functools import cached_property

from tuvl.analysis.flow_graph import ALL, Edge, FlowGraph, Place, flow_graph
from tuvl.analysis.graph import RouteGraph
from tuvl.analysis.object_keys import ObjectKeys
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
    proven: list[int]
    """Place → keys that it cannot do without."""
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


def _brings(edge: Edge, proven: list[int]) -> int:
    # A step that read a key for sure and did not fail has proven that the key was there.
    return edge.sure if edge.signal in ("", ERROR) else edge.sure | proven[edge.source]


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
    proven = [0 if place.called else keys.bits(_needed(place)) for place in graph.places]
    lacking = spread(graph, {0: everything & ~surely}, lambda edge, lack: lack & ~_brings(edge, proven))
    possible = spread(
        graph,
        {0: begins_with},
        lambda edge, some: some | edge.maybe | (edge.sure if edge.sure != ALL else 0) | (more if edge.more else 0),
    )
    if lacking is None or possible is None:
        return None
    return KeyFlow(graph, given, lacking, possible, proven, more)


def _needed(place: Place) -> set[str]:
    return {read.key for read in place.reads if read.need == "always"}
