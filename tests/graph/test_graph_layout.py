"""Where things stand in a drawing: nothing lies on anything else, whatever is drawn."""

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuvl.drawing.layout import Layout, Line, Link, Point, Rect, Size, layout
from tuvl.drawing.order import Rows, crossings, ordered
from tuvl.drawing.ranks import backward, ranks
from tuvl.drawing.spacing import spaced

HAIR = 0.01


def drawings(most: int = 14) -> st.SearchStrategy[tuple[list[Size], list[Link]]]:
    sizes = st.lists(
        st.builds(
            Size,
            width=st.floats(60, 400),
            height=st.floats(20, 300),
            margin=st.sampled_from([0.0, 60.0]),
        ),
        min_size=1,
        max_size=most,
    )
    return sizes.flatmap(lambda found: st.tuples(st.just(found), st.lists(links(len(found)), max_size=3 * most)))


def links(count: int) -> st.SearchStrategy[Link]:
    ends = st.integers(0, count - 1)
    labels = st.sampled_from([(0.0, 0.0), (40.0, 19.0), (180.0, 49.0)])
    return st.builds(
        lambda source, target, label: Link(
            source=source,
            target=None if target == source else target,
            label_width=label[0] or 80.0 * (target == source),
            label_height=label[1] or 34.0 * (target == source),
        ),
        ends,
        ends,
        labels,
    )


def overlap(one: Rect, other: Rect) -> bool:
    return (
        one.x < other.x + other.width - HAIR
        and other.x < one.x + one.width - HAIR
        and one.y < other.y + other.height - HAIR
        and other.y < one.y + one.height - HAIR
    )


def bends(line: Line) -> Iterator[Point]:
    """Points of a line, close together: vertical pieces as they are, bends as the curve they are drawn as."""
    for (x, y), (next_x, next_y) in itertools.pairwise(line.points):
        for step in range(9):
            t = step / 8
            yield (
                x * (1 - t) ** 2 * (1 + 2 * t) + next_x * t**2 * (3 - 2 * t),
                y + (next_y - y) * (1.5 * t * (1 - t) + t**3) if x != next_x else y + (next_y - y) * t,
            )


def inside(rect: Rect, point: Point) -> bool:
    x, y = point
    return rect.x + HAIR < x < rect.x + rect.width - HAIR and rect.y + HAIR < y < rect.y + rect.height - HAIR


def check(drawn: Layout, sizes: list[Size], wanted: list[Link]) -> None:
    labels = [line.label for line in drawn.lines if line.label is not None]
    assert [(box.width, box.height) for box in drawn.boxes] == [(size.width, size.height) for size in sizes]
    assert len(labels) == sum(link.label_height > 0 for link in wanted)
    for one, other in itertools.combinations((*drawn.boxes, *labels), 2):
        assert not overlap(one, other)
    for box in (*drawn.boxes, *labels):
        assert box.x >= -HAIR
        assert box.x + box.width <= drawn.width + HAIR
        assert box.y >= -HAIR
        assert box.y + box.height <= drawn.height + HAIR
    for link, line in zip(wanted, drawn.lines, strict=True):
        foreign = [label for label in labels if label is not line.label]
        for point in bends(line):
            assert not any(inside(box, point) for box in (*drawn.boxes, *foreign))
        check_ends(line, drawn.boxes[link.source], None if link.target is None else drawn.boxes[link.target])


def check_ends(line: Line, source: Rect, target: Rect | None) -> None:
    """A line begins at the edge of its box and ends at the edge of the other, or below its label."""
    (x, y), (end_x, end_y) = line.points[0], line.points[-1]
    assert source.x <= x <= source.x + source.width
    assert y == pytest.approx(source.y if line.back else source.y + source.height)
    if target is not None:
        assert target.x <= end_x <= target.x + target.width
        assert end_y == pytest.approx(target.y + target.height if line.back else target.y)
    elif line.label is not None:
        assert end_x == pytest.approx(line.label.x + line.label.width / 2)


@settings(max_examples=100, deadline=None)
@given(drawings())
def test_nothing_lies_on_anything_else_and_no_line_goes_through_a_box(drawing: tuple[list[Size], list[Link]]) -> None:
    sizes, wanted = drawing
    check(layout(sizes, wanted), sizes, wanted)


@settings(max_examples=30, deadline=None)
@given(drawings())
def test_same_input_gives_the_same_places(drawing: tuple[list[Size], list[Link]]) -> None:
    sizes, wanted = drawing
    assert layout(sizes, wanted) == layout(list(sizes), list(wanted))


@settings(deadline=None)
@given(st.integers(1, 12).flatmap(lambda count: st.tuples(st.just(count), pairs_of(count))))
def test_every_link_leads_down_once_those_that_lead_back_are_turned(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    count, pairs = drawn
    back = backward(count, pairs)
    turned = [pair[::-1] if is_back else pair for pair, is_back in zip(pairs, back, strict=True)]
    rank = ranks(count, turned)
    assert all(rank[source] < rank[target] for source, target in turned)
    assert min(rank) == 0


def pairs_of(count: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    ends = st.integers(0, count - 1)
    return st.lists(st.tuples(ends, ends).filter(lambda pair: pair[0] != pair[1]), max_size=30)


def test_link_that_closes_a_cycle_is_the_one_that_leads_back() -> None:
    size = Size(width=100, height=40)
    drawn = layout([size] * 3, [Link(source=a, target=b) for a, b in ((0, 1), (1, 2), (2, 0))])
    assert [line.back for line in drawn.lines] == [False, False, True]
    assert drawn.boxes[0].y < drawn.boxes[1].y < drawn.boxes[2].y


def test_two_lines_that_need_not_cross_do_not() -> None:
    above: list[list[int]] = [[], [], [1], [0]]
    below: list[list[int]] = [[3], [2], [], []]
    rows = ordered(Rows([[0, 1], [2, 3]], above, below))
    assert crossings(rows, below) == 0
    assert crossings([[0, 1], [2, 3]], below) == 1


def test_chain_is_drawn_as_one_straight_column() -> None:
    sizes = [Size(width=100 + 20 * (number % 3), height=40) for number in range(6)]
    drawn = layout(sizes, [Link(source=a, target=a + 1) for a in range(5)])
    assert len({round(box.x + box.width / 2, 3) for box in drawn.boxes}) == 1
    assert all(len({x for x, _ in line.points}) == 1 for line in drawn.lines)


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [
        ([], []),
        ([Size(width=10, height=10)], []),
        ([Size(width=100, height=40)] * 60, []),
        ([Size(width=100, height=40)] * 2, [Link(source=0, target=1)] * 40),
        ([Size(width=100, height=40)] * 41, [Link(source=0, target=each) for each in range(1, 41)]),
    ],
    ids=["nothing", "one box", "all alone", "many lines between two", "star"],
)
def test_odd_drawings_are_placed(sizes: list[Size], wanted: list[Link]) -> None:
    check(layout(sizes, wanted), sizes, wanted)


def test_cycle_of_thousands_of_boxes_is_placed() -> None:
    count = 2_000
    wanted = [Link(source=each, target=(each + 1) % count) for each in range(count)]
    drawn = layout([Size(width=100, height=40)] * count, wanted)
    assert sum(line.back for line in drawn.lines) == 1
    assert len({box.y for box in drawn.boxes}) == count


@given(st.lists(st.floats(-50, 150), max_size=8))
def test_ports_keep_their_order_and_their_distance(wanted: list[float]) -> None:
    wanted.sort()
    places = spaced(wanted, 0, 100, 10)
    assert all(-HAIR <= place <= 100 + HAIR for place in places)
    assert all(other - one >= 10 - HAIR for one, other in itertools.pairwise(places))
