"""In which order things stand in their rows, so that few lines cross: median sweeps, down and up, a bounded number."""

import itertools
from collections.abc import Sequence

from tuvl.dataclass import dataclass

_SWEEPS = ((800, 16), (6_000, 8), (40_000, 4))
"""For so many things at most, so many sweeps."""
_FEWEST_SWEEPS = 2
_SWAPPED_UP_TO = 800
"""Things up to which neighbours are also tried the other way round."""
_PATIENCE = 4


@dataclass(frozen=True, slots=True)
class Rows:
    """Things in rows, and what each is linked to in the row above and in the row below."""

    rows: list[list[int]]
    above: list[list[int]]
    below: list[list[int]]


def ordered(drawn: Rows) -> list[list[int]]:
    """The rows in an order with few crossings; deterministic."""
    count = sum(map(len, drawn.rows))
    rows = _first_order(drawn, count)
    best, fewest = rows, crossings(rows, drawn.below)
    sweeps = next((sweeps for most, sweeps in _SWEEPS if count <= most), _FEWEST_SWEEPS)
    patience = _PATIENCE
    for sweep in range(sweeps):
        if not fewest or not patience:
            break
        rows = _swept(rows, drawn, down=sweep % 2 == 0, late=sweep % 4 >= 2)
        if count <= _SWAPPED_UP_TO:
            _swap_neighbours(rows, drawn)
        crossed = crossings(rows, drawn.below)
        patience -= 1
        if crossed < fewest:
            best, fewest, patience = [list(row) for row in rows], crossed, _PATIENCE
    return best


def crossings(rows: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> int:
    """How many pairs of links cross between neighbouring rows."""
    return sum(_crossings_of(upper, lower, below) for upper, lower in itertools.pairwise(rows))


def _crossings_of(upper: Sequence[int], lower: Sequence[int], below: Sequence[Sequence[int]]) -> int:
    """Inversions among the ends of the links, counted with a tree of sums."""
    place = {thing: position for position, thing in enumerate(lower)}
    size = len(lower)
    tree = [0] * (size + 1)
    total = seen = 0
    for thing in upper:
        ends = sorted(place[end] for end in below[thing])
        for end in ends:
            at, left = end + 1, 0
            while at:
                left += tree[at]
                at &= at - 1
            total += seen - left
        for end in ends:
            at = end + 1
            while at <= size:
                tree[at] += 1
                at += at & -at
            seen += 1
    return total


def _first_order(drawn: Rows, count: int) -> list[list[int]]:
    """Things as a walk down the links meets them: what hangs together stands together."""
    row_of = {thing: number for number, row in enumerate(drawn.rows) for thing in row}
    rows: list[list[int]] = [[] for _ in drawn.rows]
    seen: set[int] = set()
    for row in drawn.rows:
        for first in row:
            stack = [first] if not drawn.above[first] and first not in seen else []
            while stack:
                thing = stack.pop()
                if thing in seen:
                    continue
                seen.add(thing)
                rows[row_of[thing]].append(thing)
                stack.extend(reversed(drawn.below[thing]))
    return rows


def _swept(rows: list[list[int]], drawn: Rows, *, down: bool, late: bool) -> list[list[int]]:
    """Every row by the medians of the row before it; `late` lets equals change places."""
    links = drawn.above if down else drawn.below
    found = [list(row) for row in rows]
    numbers = range(1, len(rows)) if down else range(len(rows) - 2, -1, -1)
    for number in numbers:
        before = found[number - 1 if down else number + 1]
        place = {thing: position for position, thing in enumerate(before)}
        row = found[number][::-1] if late else found[number]
        found[number] = _by_median(row, {thing: _median([place[end] for end in links[thing]]) for thing in row})
    return found


def _median(places: list[int]) -> float | None:
    if not places:
        return None
    places.sort()
    middle = len(places) // 2
    return float(places[middle]) if len(places) % 2 else (places[middle - 1] + places[middle]) / 2


def _by_median(row: list[int], medians: dict[int, float | None]) -> list[int]:
    """Sorted by median; what has none keeps its place."""
    moving = iter(sorted((thing for thing in row if medians[thing] is not None), key=lambda each: medians[each] or 0.0))
    return [thing if medians[thing] is None else next(moving) for thing in row]


def _swap_neighbours(rows: list[list[int]], drawn: Rows) -> None:
    """Swap neighbours wherever that crosses less, in place."""
    place = {thing: position for row in rows for position, thing in enumerate(row)}
    for row in rows:
        for at in range(len(row) - 1):
            one, other = row[at], row[at + 1]
            now = then = 0
            for links in (drawn.above, drawn.below):
                ends, others = [place[end] for end in links[one]], [place[end] for end in links[other]]
                now += sum(end > another for end in ends for another in others)
                then += sum(end < another for end in ends for another in others)
            if then < now:
                row[at], row[at + 1] = other, one
                place[one], place[other] = at + 1, at
