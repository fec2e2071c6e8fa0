"""Carries sets of keys along the edges of a flow graph until nothing changes any more."""

from collections.abc import Callable, Mapping

from tuvl.analysis.flow_graph import Edge, FlowGraph

UNREACHED = None

_WORK_AN_EDGE = 40
"""How often an edge is gone along on average before the answer counts as not to be had."""


def spread(
    graph: FlowGraph, starts: Mapping[int, int], along: Callable[[Edge, int], int], *, backwards: bool = False
) -> list[int | None] | None:
    """Return the set at each place and at the end: the union of what comes along every way from `starts`.

    `along` tells what of a set is left, and what is added, after an edge; it must only ever grow with the set.
    `None` at a place says that no way leads there, `None` instead of the list that the graph is too tangled to tell.
    """
    order = _order(graph)
    state: list[int | None] = [UNREACHED] * (graph.end + 1)
    dirty = [False] * (graph.end + 1)
    for place, keys in starts.items():
        state[place] = keys
        dirty[place] = True
    ways = _reversed(graph) if backwards else graph.edges
    # In turns from both sides: what flows with the order arrives in one pass, what flows against it in the next.
    passes = [list(reversed(order)), order] if backwards else [order, list(reversed(order))]
    left = _WORK_AN_EDGE * sum(map(len, graph.edges)) + 10_000
    turn = 0
    while any(dirty):
        for place in passes[turn % 2]:
            if not dirty[place] or (place == graph.end and not backwards):
                continue
            dirty[place] = False
            here = state[place] or 0
            for edge in ways[place]:
                left -= 1
                to = edge.source if backwards else edge.target
                was = state[to]
                now = along(edge, here) | (was or 0)
                if now != was:
                    state[to] = now
                    dirty[to] = True
        dirty[graph.end] = dirty[graph.end] and backwards
        if left < 0:
            return None
        turn += 1
    return state


def _reversed(graph: FlowGraph) -> list[list[Edge]]:
    ways: list[list[Edge]] = [[] for _ in range(graph.end + 1)]
    for edges in graph.edges:
        for edge in edges:
            ways[edge.target].append(edge)
    return ways


def _order(graph: FlowGraph) -> list[int]:
    """Places so that, cycles apart, each comes after all that lead to it."""
    seen = [False] * (graph.end + 1)
    finished: list[int] = []
    for root in range(graph.end):
        if seen[root]:
            continue
        seen[root] = True
        work = [(root, iter(graph.edges[root]))]
        while work:
            place, waiting = work[-1]
            child = next((edge.target for edge in waiting if not seen[edge.target]), None)
            if child is None:
                work.pop()
                finished.append(place)
                continue
            seen[child] = True
            if child != graph.end:
                work.append((child, iter(graph.edges[child])))
    finished.reverse()
    finished.append(graph.end)
    return finished
