"""A way through the workflow on which something happens, as a person follows it: step, signal, step."""

from collections import deque
from collections.abc import Callable

from tuvl.analysis.flow_graph import Edge, FlowGraph

_HEAD, _TAIL = 3, 4


def shortest(
    graph: FlowGraph, target: int, passable: Callable[[Edge], bool], *, start: int = 0
) -> tuple[Edge, ...] | None:
    """The edges of a shortest way from `start` to `target` over edges that are `passable`; `None` without one."""
    if start == target:
        return ()
    came_by: dict[int, Edge] = {}
    waiting = deque([start])
    while waiting:
        place = waiting.popleft()
        for edge in graph.edges[place] if place < graph.end else ():
            if edge.target in came_by or edge.target == start or not passable(edge):
                continue
            came_by[edge.target] = edge
            if edge.target == target:
                return _way(came_by, start, target)
            waiting.append(edge.target)
    return None


def _way(came_by: dict[int, Edge], start: int, target: int) -> tuple[Edge, ...]:
    way = []
    while target != start:
        way.append(came_by[target])
        target = way[-1].source
    return tuple(reversed(way))


def shown(graph: FlowGraph, way: tuple[Edge, ...], *, start: int = 0) -> str:
    """Write a way as `a (signal) → b → c`; `default` is left out, and so is the middle of a long way."""
    parts = [_left(graph, edge) for edge in way]
    last = way[-1].target if way else start
    parts.append("the end of the run" if last == graph.end else graph.places[last].step.id)
    if len(parts) > _HEAD + _TAIL + 1:
        parts = [*parts[:_HEAD], "…", *parts[-_TAIL:]]
    return " → ".join(parts)


def _left(graph: FlowGraph, edge: Edge) -> str:
    step = graph.places[edge.source].step.id
    return step if edge.signal in ("", "default") else f"{step} ({edge.signal})"
