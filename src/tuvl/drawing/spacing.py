"""Numbers as near as can be to where they want to stand, and yet apart from each other."""

from collections.abc import Sequence


def spaced(wanted: Sequence[float], low: float, high: float, gap: float) -> list[float]:
    """Places in the order given, at least `gap` apart and within `low` and `high`, which must be far enough apart.

    The sum of squares of what each is moved by is the least possible (neighbours that push each other are pooled).
    """
    pools: list[tuple[float, int]] = []
    for number, want in enumerate(wanted):
        total, count = want - number * gap, 1
        while pools and pools[-1][0] / pools[-1][1] >= total / count:
            before, counted = pools.pop()
            total, count = total + before, count + counted
        pools.append((total, count))
    top = high - gap * (len(wanted) - 1)
    places = [min(max(total / count, low), max(low, top)) for total, count in pools for _ in range(count)]
    return [place + number * gap for number, place in enumerate(places)]
