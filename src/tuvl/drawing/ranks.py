"""Which row a box stands in: cycles are opened, then every link leads down. All linear, and without recursion."""

from collections.abc import Sequence
from typing import TypeAlias

Pair: TypeAlias = tuple[int, int]
"""From one box to another, by number."""


def backward(count: int, pairs: Sequence[Pair]) -> list[bool]:
    """Which links lead back to where the way came from; without them there is no cycle. Boxes are walked in order."""
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for number, (source, target) in enumerate(pairs):
        leaving[source].append((target, number))
    found = [False] * len(pairs)
    state = bytearray(count)  # 0 unseen, 1 on the way, 2 done
    for first in range(count):
        if state[first]:
            continue
        state[first] = 1
        way = [(first, iter(leaving[first]))]
        while way:
            box, rest = way[-1]
            step = next(rest, None)
            if step is None:
                state[box] = 2
                way.pop()
                continue
            target, number = step
            if state[target] == 0:
                state[target] = 1
                way.append((target, iter(leaving[target])))
            elif state[target] == 1:
                found[number] = True
    return found


def ranks(count: int, pairs: Sequence[Pair]) -> list[int]:
    """The row of each box, from 0: as high as its links allow, or lower where that makes links shorter.

    The links must be without cycles.
    """
    below: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for source, target in pairs:
        below[source].append(target)
        waiting[target] += 1
    entering = tuple(waiting)
    order = [box for box in range(count) if not waiting[box]]
    rank = [0] * count
    for box in order:  # grows while it is walked
        for target in below[box]:
            rank[target] = max(rank[target], rank[box] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    for box in reversed(order):
        if below[box] and len(below[box]) > entering[box]:
            rank[box] = min(rank[target] for target in below[box]) - 1
    lowest = min(rank, default=0)
    return [each - lowest for each in rank]


def parts(count: int, pairs: Sequence[Pair]) -> list[list[int]]:
    """The boxes that hang together, each group in order, groups by their first box."""
    parent = list(range(count))

    def head(box: int) -> int:
        while parent[box] != box:
            parent[box] = parent[parent[box]]
            box = parent[box]
        return box

    for source, target in pairs:
        one, other = sorted((head(source), head(target)))
        parent[other] = one
    groups: dict[int, list[int]] = {}
    for box in range(count):
        groups.setdefault(head(box), []).append(box)
    return list(groups.values())
