"""Places boxes and the lines between them: rows from the top down, lines between boxes and never through one.

A line lives in the gaps between rows; through a row it passes in a column of its own, where no box stands. Its label
stands in a row of its own, too, right under the box it leaves. So nothing can lie on anything else, by construction.
Everything is linear in the size of what is drawn, or close to it, and nothing is recursive.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tuvl.dataclass import dataclass
from tuvl.drawing.columns import Table, columns
from tuvl.drawing.order import Rows, ordered
from tuvl.drawing.ranks import Pair, backward, parts, ranks
from tuvl.drawing.spacing import spaced

BOX_GAP = 36.0
LINE_GAP = 16.0
ROW_GAP = 18.0
_STEEPEST_GAP = 64.0
"""A row's gap when lines go far to the side in it."""
_PORT_GAP = 18.0
_PORT_MARGIN = 22.0
_PART_GAP = 56.0

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A box that wants a place, with room to be left free at both of its sides."""

    width: float
    height: float
    margin: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A line that wants a way; without a target it ends at its label. A label of no size is none."""

    source: int
    target: int | None
    label_width: float = 0.0
    label_height: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rect:
    """Where something stands, by its top left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The way of a link: vertical pieces, and bends between them. `back` leads up."""

    points: tuple[Point, ...]
    label: Rect | None
    back: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Everything in its place; boxes and lines in the order they were given."""

    width: float
    height: float
    boxes: tuple[Rect, ...]
    lines: tuple[Line, ...]


def layout(sizes: Sequence[Size], links: Sequence[Link]) -> Layout:
    """Place the boxes and draw the lines. The first box comes first; what nothing links to it stands below."""
    pairs = [(link.source, link.target) for link in links if link.target is not None]
    placed = [_part(group, sizes, links_of) for group, links_of in _shared_out(parts(len(sizes), pairs), links)]
    boxes: dict[int, Rect] = {}
    lines: dict[int, Line] = {}
    width = height = 0.0
    for part, (x, y) in zip(placed, _shelves(placed), strict=True):
        for box, rect in part.boxes.items():
            boxes[box] = Rect(x=rect.x + x, y=rect.y + y, width=rect.width, height=rect.height)
        for number, line in part.lines.items():
            lines[number] = _moved(line, x, y)
        width, height = max(width, x + part.width), max(height, y + part.height)
    return Layout(
        width=width,
        height=height,
        boxes=tuple(boxes[number] for number in range(len(sizes))),
        lines=tuple(lines[number] for number in range(len(links))),
    )


def span_of(count: int, links: Sequence[Link]) -> list[int]:
    """How many rows each link goes down or up; those that end at their label go none."""
    _, rank = _ranked(count, links)
    return [0 if link.target is None else abs(rank[link.target] - rank[link.source]) for link in links]


def _ranked(count: int, links: Sequence[Link]) -> tuple[list[bool], list[int]]:
    """Which links lead back, and the row of each box."""
    pairs: list[Pair] = []
    numbers: list[int] = []
    for number, link in enumerate(links):
        if link.target is not None:
            pairs.append((link.source, link.target))
            numbers.append(number)
    back = backward(count, pairs)
    flipped = [False] * len(links)
    for number, is_back in zip(numbers, back, strict=True):
        flipped[number] = is_back
    return flipped, ranks(count, [pair[::-1] if is_back else pair for pair, is_back in zip(pairs, back, strict=True)])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Boxes that hang together, placed by themselves."""

    width: float
    height: float
    boxes: dict[int, Rect]
    lines: dict[int, Line]


def _shared_out(groups: list[list[int]], links: Sequence[Link]) -> Iterator[tuple[list[int], list[tuple[int, Link]]]]:
    home = {box: number for number, group in enumerate(groups) for box in group}
    shares: list[list[tuple[int, Link]]] = [[] for _ in groups]
    for number, link in enumerate(links):
        shares[home[link.source]].append((number, link))
    return zip(groups, shares, strict=True)


def _shelves(placed: Sequence[_Part]) -> list[Point]:
    """The first part on top, the others below it in shelves about as wide."""
    if not placed:
        return []
    area = sum((part.width + _PART_GAP) * (part.height + _PART_GAP) for part in placed[1:])
    room = max(placed[0].width, max((part.width for part in placed), default=0.0), (1.6 * area) ** 0.5)
    corners: list[Point] = [((room - placed[0].width) / 2 if len(placed) > 1 else 0.0, 0.0)]
    x, y, tallest = 0.0, placed[0].height + _PART_GAP, 0.0
    for part in placed[1:]:
        if x and x + part.width > room:
            x, y, tallest = 0.0, y + tallest + _PART_GAP, 0.0
        corners.append((x, y))
        x, tallest = x + part.width + _PART_GAP, max(tallest, part.height)
    return corners


def _moved(line: Line, x: float, y: float) -> Line:
    label = line.label
    if label is not None:
        label = Rect(x=label.x + x, y=label.y + y, width=label.width, height=label.height)
    return Line(points=tuple((px + x, py + y) for px, py in line.points), label=label, back=line.back)


def _part(group: list[int], sizes: Sequence[Size], numbered: list[tuple[int, Link]]) -> _Part:
    """Place boxes that hang together."""
    local = {box: number for number, box in enumerate(group)}
    links = [
        Link(
            source=local[link.source],
            target=None if link.target is None else local[link.target],
            label_width=link.label_width,
            label_height=link.label_height,
        )
        for _, link in numbered
    ]
    grid = _Grid([sizes[box] for box in group], links)
    rects, lines = grid.placed()
    return _Part(
        width=grid.width,
        height=grid.height,
        boxes={box: rects[number] for box, number in local.items()},
        lines={number: line for (number, _), line in zip(numbered, lines, strict=True)},
    )


class _Grid:
    """One part: boxes in even rows, labels in odd ones, and lines that pass through both."""

    def __init__(self, sizes: list[Size], links: list[Link]) -> None:
        self.sizes, self.links = sizes, links
        self.flipped, rank = _ranked(len(sizes), links)
        self.row_of = [2 * each for each in rank]
        self.widths = [size.width + 2 * size.margin for size in sizes]
        self.heights = [size.height for size in sizes]
        self.inner = [False] * len(sizes)
        self.above: list[list[int]] = [[] for _ in sizes]
        self.below: list[list[int]] = [[] for _ in sizes]
        self.chains = [self._chain(link, flipped) for link, flipped in zip(links, self.flipped, strict=True)]
        self._order_and_place()

    def _thing(self, row: int, width: float = 0.0, height: float = 0.0) -> int:
        self.row_of.append(row)
        self.widths.append(width)
        self.heights.append(height)
        self.inner.append(True)
        self.above.append([])
        self.below.append([])
        return len(self.row_of) - 1

    def _chain(self, link: Link, flipped: bool) -> list[int]:
        """What a line passes through, from the top down; the label stands beside the box the line leaves."""
        upper, lower = link.source, link.target
        if flipped and lower is not None:
            upper, lower = lower, upper
        last = self.row_of[upper] + 2 if lower is None else self.row_of[lower]
        labelled = last - 1 if flipped else self.row_of[upper] + 1
        chain = [upper]
        for row in range(self.row_of[upper] + 1, last):
            size = (link.label_width, link.label_height) if row == labelled else (0.0, 0.0)
            chain.append(self._thing(row, *size))
        if lower is not None:
            chain.append(lower)
        for one, other in itertools.pairwise(chain):
            self.below[one].append(other)
            self.above[other].append(one)
        return chain

    def _order_and_place(self) -> None:
        rows: list[list[int]] = [[] for _ in range(max(self.row_of, default=-1) + 1)]
        for thing, row in enumerate(self.row_of):
            rows[row].append(thing)
        self.rows = ordered(Rows(rows, self.above, self.below))
        self.xs = columns(Table(self.rows, self.above, self.below, self.widths, self.inner, BOX_GAP, LINE_GAP))
        left = min((x - width / 2 for x, width in zip(self.xs, self.widths, strict=True)), default=0.0)
        self.xs = [x - left for x in self.xs]
        self.width = max((x + width / 2 for x, width in zip(self.xs, self.widths, strict=True)), default=0.0)
        self.leaves, self.enters = self._ports(self.below), self._ports(self.above)
        self._place_rows()

    def _ports(self, links: list[list[int]]) -> dict[tuple[int, int], float]:
        """Where on the edge of its box each line stands: above what it leads to, if it can."""
        found: dict[tuple[int, int], float] = {}
        for box, size in enumerate(self.sizes):
            ends = sorted(links[box], key=self.xs.__getitem__)
            room = max(0.0, size.width / 2 - _PORT_MARGIN)
            wanted = [min(max(self.xs[end], self.xs[box] - room), self.xs[box] + room) for end in ends]
            gap = min(_PORT_GAP, 2 * room / max(1, len(ends) - 1))
            for end, x in zip(ends, spaced(wanted, self.xs[box] - room, self.xs[box] + room, gap), strict=True):
                found[box, end] = x
        return found

    def _at(self, thing: int, other: int, *, leaving: bool) -> float:
        """Where the line between two things meets the first of them."""
        if thing >= len(self.sizes):
            return self.xs[thing]
        return (self.leaves if leaving else self.enters)[thing, other]

    def _place_rows(self) -> None:
        """Rows below each other; a gap in which lines go far to the side is a little higher."""
        self.tops, self.bottoms = [], []
        y = 0.0
        for number, row in enumerate(self.rows):
            self.tops.append(y)
            y += max((self.heights[thing] for thing in row), default=0.0)
            self.bottoms.append(y)
            farthest = max(
                (
                    abs(self._at(thing, end, leaving=True) - self._at(end, thing, leaving=False))
                    for thing in row
                    for end in self.below[thing]
                ),
                default=0.0,
            )
            y += min(_STEEPEST_GAP, ROW_GAP + 0.07 * farthest) if number < len(self.rows) - 1 else 0.0
        self.height = y

    def placed(self) -> tuple[list[Rect], list[Line]]:
        """Where the boxes stand and the lines run."""
        rects = [self._rect(box, size.width, size.height) for box, size in enumerate(self.sizes)]
        lines = [
            self._line(chain, link, flipped)
            for chain, link, flipped in zip(self.chains, self.links, self.flipped, strict=True)
        ]
        return rects, lines

    def _rect(self, thing: int, width: float, height: float) -> Rect:
        return Rect(x=self.xs[thing] - width / 2, y=self.tops[self.row_of[thing]], width=width, height=height)

    def _line(self, chain: list[int], link: Link, flipped: bool) -> Line:
        upper = chain[0]
        x = self._at(upper, chain[1], leaving=True)
        points = [(x, self.tops[self.row_of[upper]] + self.heights[upper])]
        label = None
        for before, thing in itertools.pairwise(chain):
            row = self.row_of[thing]
            points.append((x, self.bottoms[row - 1]))
            x = self._at(thing, before, leaving=False)
            points.append((x, self.tops[row]))
            if thing >= len(self.sizes) and self.heights[thing]:
                label = self._rect(thing, self.widths[thing], self.heights[thing])
        return Line(points=tuple(points[::-1] if flipped else points), label=label, back=flipped)
