"""What is said of an answer whose fields are not those of its kind."""

import pytest

from tuvl.hosting.answers import checked
from tuvl.hosting.requests import AnswerRefused
from tuvl.principal import Principal


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (
            "outcome_unknown",
            {"outcome": "done", "values": {"ok": 1}},
            "'values', which is not asked; asked are outcome, answer",
        ),
        ("outcome_unknown", {"outcome": "finished"}, "`outcome` is one of done, retry, failed"),
        ("outcome_unknown", {}, "`outcome` is one of done, retry, failed"),
        ("outcome_unknown", {"outcome": "retry", "answer": {"ok": 1}}, "goes with the outcome `done`"),
        ("approval", {"approved": True, "reason": "fine"}, "'reason', which is not asked; asked are approved, note"),
        ("approval", {"note": "fine"}, "`approved`, true or false"),
    ],
)
def test_a_field_that_is_not_known_is_named_and_nothing_else_is_said_to_be_wrong(kind, value, words):
    with pytest.raises(AnswerRefused) as refused:
        checked(kind, {}, value, Principal())
    assert words in str(refused.value)
