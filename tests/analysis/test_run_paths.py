"""How often the route graph lets steps run, and the dearest way through it."""

import pytest

from tests.analysis.workflows import decide, graph, work
from tuvl.analysis.amount import NOTHING, Amount, exactly, highest, total, unbounded, unknown
from tuvl.analysis.graph import RouteGraph
from tuvl.analysis.run_paths import RunPaths, run_paths, runs_all
from tuvl.analysis.sums import AMOUNTS, best_of


def main_paths(found: RouteGraph, max_steps: int = 200) -> RunPaths:
    return run_paths(found, max_steps)[0]


def dearest(found: RouteGraph, max_steps: int = 200, **worth: float) -> float | None:
    return main_paths(found, max_steps).dearest({step: exactly(value) for step, value in worth.items()}, AMOUNTS).value


def test_step_outside_of_cycles_runs_once() -> None:
    found = graph(work("a"), work("b"), work("c"))
    assert [main_paths(found).times(step) for step in "abc"] == [1, 1, 1]
    assert dearest(found, a=1, b=2, c=4) == 7


def test_of_two_branches_only_the_dearer_counts() -> None:
    found = graph(decide("ask", "left", "right"), work("left", default="END"), work("right", default="END"))
    assert dearest(found, left=5, right=3) == 5


def test_steps_of_a_cycle_share_what_max_steps_leaves() -> None:
    found = graph(work("a"), decide("again", "a", "out"), work("out"))
    paths = main_paths(found, 20)
    assert (paths.times("a"), paths.times("again"), paths.times("out")) == (10, 10, 1)
    assert dearest(found, 20, a=3) == 30


def test_step_routed_to_itself_runs_as_often_as_there_are_steps() -> None:
    found = graph(work("a", error="a"))
    assert main_paths(found, 7).times("a") == 7


def test_no_way_takes_more_steps_than_max_steps() -> None:
    found = graph(*(work(f"s{number}") for number in range(50)))
    assert dearest(found, 5, **{f"s{number}": number for number in range(50)}) == 49 + 48 + 47 + 46 + 45


def test_what_an_abort_leads_to_is_a_way_of_its_own() -> None:
    step = {"id": "a", "kind": "APICall", "http": {"url": "https://shop.example/"}, "routes": {"aborted": "clean"}}
    found = graph(step, work("b", default="END"), work("clean", default="END"))
    ways = run_paths(found, 200)
    assert [sorted(way.steps & {"a", "b", "clean"}) for way in ways] == [["a", "b"], ["clean"]]
    assert runs_all(found)


def test_step_behind_a_signal_that_never_comes_does_not_run() -> None:
    found = graph(work("a", never="lost", default="END"), work("lost"))
    assert main_paths(found).times("lost") == 0
    assert not runs_all(found)


@pytest.mark.parametrize("size", [3000])
def test_one_large_cycle_is_answered(size: int) -> None:
    steps = [work(f"s{number}", default=f"s{(number + 1) % size}") for number in range(size)]
    found = graph(*steps)
    assert dearest(found, 100, **{f"s{number}": 1 for number in range(size)}) == 100


class TestAmounts:
    def test_what_is_unbounded_in_one_part_is_so_as_a_whole(self) -> None:
        found = total([exactly(1), unbounded("token_budget"), unknown("the price")])
        assert (found.state, found.needs, found.lacks) == ("unbounded", ("token_budget",), ("the price",))

    def test_a_bound_counts_whatever_the_other_is(self) -> None:
        assert unbounded("x").at_most(exactly(5, "token_budget")) == Amount(5, by=("token_budget",))
        assert exactly(5).at_most(unknown("x")).value == 5

    def test_none_of_something_unknown_is_none(self) -> None:
        assert unknown("x").times(0) == NOTHING
        assert (unbounded("x") * exactly(0)).value == 0

    def test_what_is_not_shown_to_be_within_a_limit_is_not(self) -> None:
        assert unknown("x").exceeds(1e9)
        assert not exactly(5).exceeds(5)

    def test_highest_of_nothing_is_nothing(self) -> None:
        assert highest([]) == NOTHING

    def test_what_has_no_bound_decides_a_choice(self) -> None:
        assert best_of([(exactly(3), 2), (unbounded("x"), 1)], 1).state == "unbounded"
