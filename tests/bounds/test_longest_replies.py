"""How long a reply may be at most, when a preset asks for it in ways of its own."""

import pytest

from tuvl.analysis.language_models import preset_facts
from tuvl.model_table import TableEntry

ASKED = 100
LISTED = 4096
OF_TABLE = TableEntry(max_output_tokens=LISTED)


def longest(spec: dict[str, object], *, listed: bool, asked: int | None = ASKED) -> float | None:
    spec = {"provider": "openai", "model": "m", **spec}
    facts = preset_facts("m", spec, lookup=lambda _: OF_TABLE if listed else None)
    return facts.longest_reply(asked, "max_output_tokens").value


@pytest.mark.parametrize(
    ("extra", "most"),
    [
        ({"max_tokens": 9999}, 9999),
        ({"max_tokens": 50}, 50),
        ({"extra_body": {"max_tokens": 9999}}, 9999),
        ({"max_tokens": 50, "extra_body": {"max_tokens": 70}}, 70),
        ({"max_completion_tokens": 9999}, 9999),
        ({"extra_body": {"max_completion_tokens": 9999}}, 9999),
        ({"max_completion_tokens": 50}, ASKED),
        ({"max_tokens": 50, "max_completion_tokens": 9999}, 9999),
        ({"max_output_tokens": 9999}, 9999),
        ({"num_predict": 9999}, 9999),
        ({"num_predict": 50}, ASKED),
        ({"max_completion_tokens": None}, ASKED),
        ({"top_p": 1}, ASKED),
    ],
)
def test_setting_that_lifts_the_longest_reply_is_reckoned_with(extra: dict[str, object], most: int) -> None:
    assert longest({"extra": extra}, listed=True) == most
    assert longest({"extra": extra}, listed=False) == most


@pytest.mark.parametrize(
    "extra",
    [
        {"max_tokens": None},
        {"max_tokens": -1},
        {"max_tokens": "${MOST}"},
        {"max_completion_tokens": "${MOST}"},
        {"extra_body": {"num_predict": -1}},
    ],
)
def test_setting_that_gives_no_number_leaves_what_the_model_can_do_at_most(extra: dict[str, object]) -> None:
    assert longest({"extra": extra, "max_tokens": 70}, listed=True) == LISTED
    assert longest({"extra": extra, "max_tokens": 70}, listed=False) is None


@pytest.mark.parametrize(
    ("spec", "most"),
    [
        ({}, LISTED),
        ({"max_tokens": 70}, 70),
        ({"max_tokens": 70, "extra": {"max_completion_tokens": 50}}, 70),
        ({"extra": {"max_completion_tokens": 50}}, 50),
        ({"extra": {"max_completion_tokens": 9999, "num_predict": 50}}, 9999),
        ({"extra": {"num_predict": 50}}, LISTED),
    ],
)
def test_where_no_agent_asks_the_preset_does(spec: dict[str, object], most: int) -> None:
    assert longest(spec, listed=True, asked=None) == most
