"""Did you mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuvl.spec.nearest import nearest

FIELDS = ["max_iterations", "token_budget", "model", "mode", "tools", "id", "kind", "timeout_s"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("max_iteration", "max_iterations"),
        ("maxIterations", "max_iterations"),
        ("token-budget", "token_budget"),
        ("modle", "model"),
        ("mdoe", "mode"),
        ("tool", "tools"),
        ("timeout", "timeout_s"),
        ("idd", "id"),
        ("zzzz", None),
        ("", None),
        ("__", None),
        ("x" * 1000, None),
    ],
)
def test_nearest_word_is_found(word: str, meant: str | None) -> None:
    assert nearest(word, FIELDS) == meant


@given(st.text(max_size=80), st.lists(st.text(max_size=20), max_size=5))
def test_answer_is_always_a_known_word_or_none(word: str, known: list[str]) -> None:
    assert nearest(word, known) in {None, *known}


@given(st.sampled_from(FIELDS))
def test_known_word_is_nearest_to_itself(word: str) -> None:
    assert nearest(word, FIELDS) == word
