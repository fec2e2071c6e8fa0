"""What a person is shown who decides is one list: by name, in the title, in the instruction."""

from pathlib import Path
from typing import Any

import pytest

from tests.changes.test_origins_of_values import ASK, PAY, Step, files, told

BARE: Step = {key: value for key, value in ASK.items() if key != "ui"}


def codes(tmp_path: Path, old: dict[str, Any], new: dict[str, Any]) -> set[str]:
    states = [files({**BARE, "ui": {"title": "Pay?", **ui}}, PAY) for ui in (old, new)]
    return {change.code for change in told(tmp_path, states[0], states[1])}


BLIND: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("title", {"title": "Pay {{ n }} to {{ id }}?"}, {"title": "Proceed?"}),
    ("instruction", {"instruction": "It is about {{ n }}."}, {"instruction": "It is about money."}),
    ("instruction that is gone", {"instruction": "It is about {{ n }}."}, {}),
    ("name of a key", {"display_context": ["n", "id"]}, {"display_context": ["id"]}),
    ("list of keys", {"display_context": ["n"]}, {}),
    ("value that only decides", {"title": "Pay {{ n }}?"}, {"title": "Pay {{ 'much' if n > 9 else 'little' }}?"}),
    ("value that is only counted", {"title": "Pay {{ id }}?"}, {"title": "Pay {{ id | length }}?"}),
    ("another value", {"title": "Pay {{ n }}?"}, {"title": "Pay {{ id }}?"}),
    ("part of a value", {"display_context": ["n"]}, {"title": "Pay {{ n.cents }}?"}),
]
SEEN: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("words around", {"title": "Pay {{ n }}?"}, {"title": "Shall we really pay {{ n }}?"}),
    ("from the title to the list", {"title": "Pay {{ n }}?"}, {"display_context": ["n"]}),
    ("from the list to the title", {"display_context": ["n"]}, {"title": "Pay {{ n }}?"}),
    ("from the list to the instruction", {"display_context": ["n"]}, {"instruction": "It is {{ n }}."}),
    ("rounded", {"title": "Pay {{ n }}?"}, {"title": "Pay {{ n | round(2) }}?"}),
    ("whole of a part", {"title": "Pay {{ n.cents }}?"}, {"display_context": ["n"]}),
    ("one more", {"title": "Pay {{ n }}?"}, {"title": "Pay {{ n }} to {{ id }}?"}),
]


@pytest.mark.parametrize(("old", "new"), [each[1:] for each in BLIND], ids=[each[0] for each in BLIND])
def test_value_that_a_person_is_no_longer_shown_weakens_the_approval_wherever_it_stood(
    tmp_path: Path, old: dict[str, Any], new: dict[str, Any]
) -> None:
    assert "approval-weakened" in codes(tmp_path, old, new)


@pytest.mark.parametrize(("old", "new"), [each[1:] for each in SEEN], ids=[each[0] for each in SEEN])
def test_value_that_a_person_is_still_shown_may_stand_elsewhere_in_other_words(
    tmp_path: Path, old: dict[str, Any], new: dict[str, Any]
) -> None:
    assert codes(tmp_path, old, new) == {"field-changed"}
