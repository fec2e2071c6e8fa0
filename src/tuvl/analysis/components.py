"""Strongly connected components and shortest cycles of a directed graph; iterative, linear in nodes and edges."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping


def components(successors: Mapping[str, Collection[str]]) -> list[tuple[str, ...]]:
    """The strongly connected components that hold a cycle (Tarjan), members in the order of `successors`.

    Successors that are not keys of the mapping are passed over.
    """
    order = {node: rank for rank, node in enumerate(successors)}
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    open_nodes: list[str] = []
    is_open: set[str] = set()
    found: list[tuple[str, ...]] = []
    for root in successors:
        if root in number:
            continue
        work = [(root, iter(successors[root]))]
        number[root] = low[root] = len(number)
        open_nodes.append(root)
        is_open.add(root)
        while work:
            node, waiting = work[-1]
            child = next(
                (each for each in waiting if each in successors and (each not in number or each in is_open)), None
            )
            if child is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    members = _close(node, open_nodes, is_open)
                    if len(members) > 1 or node in successors[node]:
                        found.append(tuple(sorted(members, key=order.__getitem__)))
            elif child in number:
                low[node] = min(low[node], number[child])
            else:
                number[child] = low[child] = len(number)
                open_nodes.append(child)
                is_open.add(child)
                work.append((child, iter(successors[child])))
    return sorted(found, key=lambda members: order[members[0]])


def _close(node: str, open_nodes: list[str], is_open: set[str]) -> list[str]:
    members = []
    while True:
        member = open_nodes.pop()
        is_open.discard(member)
        members.append(member)
        if member == node:
            return members


def cycle_through(start: str, successors: Mapping[str, Collection[str]], within: Collection[str]) -> tuple[str, ...]:
    """A shortest cycle through `start` that stays in `within`; `start` alone when there is none."""
    inside = set(within)
    came_from: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for child in successors.get(node, ()):
            if child == start:
                return _way_back(node, came_from)
            if child in inside and child not in came_from:
                came_from[child] = node
                waiting.append(child)
    return (start,)


def _way_back(node: str, came_from: Mapping[str, str]) -> tuple[str, ...]:
    way = [node]
    while way[-1] in came_from:
        way.append(came_from[way[-1]])
    return tuple(reversed(way))


def closure(starts: Iterable[str], successors: Mapping[str, Collection[str]]) -> frozenset[str]:
    """Everything that can be reached from `starts`, those included."""
    seen = set(starts)
    waiting = list(seen)
    while waiting:
        for child in successors.get(waiting.pop(), ()):
            if child not in seen:
                seen.add(child)
                waiting.append(child)
    return frozenset(seen)
