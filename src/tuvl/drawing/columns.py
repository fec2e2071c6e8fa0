"""Where in its row a thing stands: after Brandes and Köpf, four alignments and the middle of them; linear.

Things in one alignment form blocks that share a column, so that long lines come out straight. What lies inside a long
line takes precedence over what meets it.
"""

import itertools
from collections.abc import Sequence
from math import ceil, floor
from typing import TypeAlias

from tuvl.dataclass import dataclass

Conflicts: TypeAlias = set[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows in their final order. `inner` things lie on a long line; `gap` keeps boxes apart, `line_gap` lines."""

    rows: list[list[int]]
    above: list[list[int]]
    below: list[list[int]]
    widths: list[float]
    inner: list[bool]
    gap: float
    line_gap: float

    def apart(self, one: int, other: int) -> float:
        """The least distance between the middles of two neighbours."""
        gap = self.line_gap if self.inner[one] and self.inner[other] else self.gap
        return (self.widths[one] + self.widths[other]) / 2 + gap


def columns(table: Table) -> list[float]:
    """The middle of each thing; neighbours of a row never overlap."""
    conflicts = _conflicts(table)
    layouts = [_layout(table, conflicts, down=down, right=right) for down in (True, False) for right in (False, True)]
    spans = [_span(table, xs) for xs in layouts]
    least, most = min(spans, key=lambda span: span[1] - span[0])
    for index, (xs, (low, high)) in enumerate(zip(layouts, spans, strict=True)):
        shift = most - high if index % 2 else least - low
        layouts[index] = [x + shift for x in xs]
    middles = []
    for four in zip(*layouts, strict=True):
        _, second, third, _ = sorted(four)
        middles.append((second + third) / 2)
    _push_apart(table, middles)
    return middles


def _span(table: Table, xs: Sequence[float]) -> tuple[float, float]:
    lows = [xs[row[0]] - table.widths[row[0]] / 2 for row in table.rows if row]
    highs = [xs[row[-1]] + table.widths[row[-1]] / 2 for row in table.rows if row]
    return min(lows, default=0.0), max(highs, default=0.0)


def _push_apart(table: Table, xs: list[float]) -> None:
    """Sums of floats may fall short by a hair; see that nothing does."""
    for row in table.rows:
        for one, other in itertools.pairwise(row):
            xs[other] = max(xs[other], xs[one] + table.apart(one, other))


def _conflicts(table: Table) -> Conflicts:
    """Links that cross a piece of a long line, and so give way to it."""
    found: Conflicts = set()
    for upper, lower in zip(table.rows, table.rows[1:], strict=False):
        place = {thing: position for position, thing in enumerate(upper)}
        left, start = 0, 0
        for position, thing in enumerate(lower):
            inside = next((end for end in table.above[thing] if table.inner[thing] and table.inner[end]), None)
            if inside is None and position < len(lower) - 1:
                continue
            right = len(upper) - 1 if inside is None else place[inside]
            for crossing in lower[start : position + 1]:
                for end in table.above[crossing]:
                    is_inner = table.inner[crossing] and table.inner[end]
                    if not is_inner and not left <= place[end] <= right:
                        found.add((end, crossing))
            left, start = right, position + 1
    return found


def _layout(table: Table, conflicts: Conflicts, *, down: bool, right: bool) -> list[float]:
    rows = table.rows if down else table.rows[::-1]
    if right:
        rows = [row[::-1] for row in rows]
    root = _aligned(rows, table.above if down else table.below, conflicts, down=down)
    xs = _compacted(rows, root, table)
    return [-x for x in xs] if right else xs


def _aligned(rows: list[list[int]], links: list[list[int]], conflicts: Conflicts, *, down: bool) -> list[int]:
    """The block of each thing, named by its first."""
    root = list(range(len(links)))
    for before, row in itertools.pairwise(rows):
        place = {thing: position for position, thing in enumerate(before)}
        last = -1
        for thing in row:
            ends = sorted(links[thing], key=place.__getitem__)
            if not ends:
                continue
            middle = (len(ends) - 1) / 2
            for at in range(floor(middle), ceil(middle) + 1):
                end = ends[at]
                crossing = (end, thing) if down else (thing, end)
                if root[thing] == thing and place[end] > last and crossing not in conflicts:
                    root[thing], last = root[end], place[end]
    return root


def _compacted(rows: list[list[int]], root: list[int], table: Table) -> list[float]:
    """Blocks as far left as they can stand, then each as far right as its right neighbours leave it."""
    after: dict[int, dict[int, float]] = {}
    waiting: dict[int, int] = {}
    for row in rows:
        for thing in row:
            after.setdefault(root[thing], {})
            waiting.setdefault(root[thing], 0)
        for one, other in itertools.pairwise(row):
            near = after[root[one]]
            if root[other] not in near:
                waiting[root[other]] += 1
            near[root[other]] = max(near.get(root[other], 0.0), table.apart(one, other))
    order = [block for block, count in waiting.items() if not count]
    xs = dict.fromkeys(after, 0.0)
    for block in order:  # grows while it is walked
        for other, apart in after[block].items():
            xs[other] = max(xs[other], xs[block] + apart)
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    for block in reversed(order):
        if after[block]:
            xs[block] = max(xs[block], min(xs[other] - apart for other, apart in after[block].items()))
    return [xs[root[thing]] for thing in range(len(root))]
