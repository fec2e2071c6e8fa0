"""Which misspelt names are mended without asking."""

import pytest

from tuvl.suggest import certain

FIELDS = ("hooks", "kind", "values", "routes", "timeout_s", "max_steps", "max_cost_usd", "max_wall_clock_s", "id")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("valeus", "values"),
        ("value", "values"),
        ("max-steps", "max_steps"),
        ("max_csot_usdd", "max_cost_usd"),
        ("kidn", "kind"),
        # Too short, too far, or nothing like it.
        ("ids", None),
        ("kidnn", None),
        ("rtes", None),
        ("maximum_steps", None),
        ("colour", None),
        ("values", None),
    ],
)
def test_only_a_slip_is_certain(word: str, meant: str | None) -> None:
    assert certain(word, FIELDS) == meant


def test_two_near_names_are_a_question() -> None:
    assert certain("order_x", ("order_1", "order_2")) is None
    assert certain("order", ("orders", "order_1")) is None


def test_order_of_the_names_does_not_matter() -> None:
    assert certain("lokup", ["lookup", "refund"]) == certain("lokup", ["refund", "lookup"]) == "lookup"
