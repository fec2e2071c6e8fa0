"""What a run asks of a person, and how the form is read that answers it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tuvl.errors import InputError
from tuvl.hosting.requests import WaitingRun
from tuvl.principal import Principal
from tuvl.server.obstacles import obstacle
from tuvl.server.pages.asking import card_of, filled_in, value_of

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
FIELDS = [
    {"name": "verdict", "type": "choice", "required": True, "label": "Verdict", "choices": ["yes", 2, True]},
    {"name": "sure", "type": "boolean", "required": False, "label": None, "choices": None},
    {"name": "count", "type": "integer", "required": False, "label": "Count", "choices": None},
    {"name": "share", "type": "number", "required": False, "label": "Share", "choices": None},
    {"name": "short", "type": "string", "required": False, "label": None, "choices": None},
    {"name": "long", "type": "text", "required": False, "label": None, "choices": None},
]


def wait(kind: str, **asked: object) -> WaitingRun:
    return WaitingRun(
        run_id="r/1",
        workflow="w",
        kind=kind,
        step="s",
        message="step 's' waits",
        asked=asked,
        digest="d",
        since=NOW - timedelta(minutes=3),
        deadline=NOW + timedelta(hours=1),
        groups=(),
        assignee=None,
        requested_by="bot",
        tenant=None,
    )


QUESTION = wait(
    "question", title="Sign?", instruction="Read.\nThen sign.", shown={"text": "a\nb", "data": {"x": 1}}, fields=FIELDS
)
APPROVAL = wait("approval", tool="pay", arguments={"cents": 5, "to": "x" * 5000}, reason="it is dear")
UNKNOWN = wait("outcome_unknown")
ADA = Principal(id="ada", scopes=frozenset({"runs:control"}))


def test_a_question_is_shown_whole_with_a_field_of_each_type() -> None:
    card = card_of(QUESTION, ADA, NOW)
    assert (card.heading, card.instruction, card.since, card.deadline) == (
        "Sign?", "Read.\nThen sign.", "3 min ago", "04 May 2026, 13:00:00 UTC"
    )  # fmt: skip
    assert card.href == "/waiting/r%2F1"
    assert [(block.label, block.text) for block in card.blocks] == [("text", "a\nb"), ("data", '{\n  "x": 1\n}')]
    verdict, sure, count, share, short, long = card.fields
    assert [(option.value, option.label) for option in verdict.options] == [("0", "yes"), ("1", "2"), ("2", "true")]
    assert [option.value for option in sure.options] == ["true", "false"]
    assert (count.mode, share.mode, short.mode, long.several_lines) == ("numeric", "decimal", "", True)
    assert (verdict.required, sure.required, verdict.label, sure.label) == (True, False, "Verdict", "sure")


def test_an_approval_shows_the_whole_of_the_arguments() -> None:
    card = card_of(APPROVAL, ADA, NOW)
    assert card.heading == "Approve a call of pay?"
    assert card.message == "Step s wants to call the tool pay. Asked because it is dear."
    assert "x" * 5000 in card.blocks[0].text
    assert [deed.value for deed in card.deeds] == ["approve", "deny"]


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"deed": "approve", "note": "  "}, {"approved": True, "note": None}),
        ({"deed": "deny", "note": " too much "}, {"approved": False, "note": "too much"}),
    ],
)
def test_a_decision_is_read_from_the_button(given: dict, value: dict) -> None:
    assert value_of(APPROVAL, given) == value


def test_answers_have_the_types_that_were_asked_for() -> None:
    given = {
        "field.verdict": "1",
        "field.sure": "false",
        "field.count": " 12 ",
        "field.share": "0.5",
        "field.short": " a ",
        "field.long": "one\r\ntwo",
        "field.other": "not asked",
        "csrf": "x",
    }
    answer = {"verdict": 2, "sure": False, "count": 12, "share": 0.5, "short": "a", "long": "one\ntwo"}
    assert value_of(QUESTION, given) == answer
    for text, number in (("3", 3), ("-0.5", -0.5), ("+7", 7), ("1e3", 1000.0), (".5", 0.5), ("2.", 2.0), ("007", 7)):
        assert value_of(QUESTION, {"field.verdict": "2", "field.share": text}) == {"verdict": True, "share": number}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("verdict", "", "Verdict: an answer is needed."),
        ("verdict", "3", "Verdict: this has to be one of the choices."),
        ("verdict", "-1", "Verdict: this has to be one of the choices."),
        ("sure", "perhaps", "sure: this has to be one of the choices."),
        ("count", "1_0", "Count: this has to be a whole number, e.g. 12."),
        ("count", "١٢", "Count: this has to be a whole number, e.g. 12."),
        ("share", "1_0", "Share: this has to be a number, e.g. 12.5."),
        ("share", "1_0.5", "Share: this has to be a number, e.g. 12.5."),
        ("share", "1,5", "Share: this has to be a number, e.g. 12.5."),
        ("share", "inf", "Share: this has to be a number, e.g. 12.5."),
        ("count", "1.5", "Count: this has to be a whole number, e.g. 12."),
        ("share", "much", "Share: this has to be a number, e.g. 12.5."),
        ("share", "nan", "Share: this has to be a number, e.g. 12.5."),
        ("share", "1e999", "Share: this has to be a number, e.g. 12.5."),
    ],
)
def test_an_answer_that_does_not_fit_is_told_by_its_field(name: str, text: str, words: str) -> None:
    with pytest.raises(InputError) as raised:
        value_of(QUESTION, {"field.verdict": "0", f"field.{name}": text})
    assert str(raised.value) == words


def test_an_outcome_that_nobody_knows_is_told_with_what_the_step_would_have_set() -> None:
    assert value_of(UNKNOWN, {"outcome": "retry"}) == {"outcome": "retry", "answer": {}}
    assert value_of(UNKNOWN, {"outcome": "done", "answer": '{"a": 1}'}) == {"outcome": "done", "answer": {"a": 1}}
    for text, words in (("{", "no JSON"), ("[1]", "JSON object")):
        with pytest.raises(InputError, match=words):
            value_of(UNKNOWN, {"outcome": "done", "answer": text})


def test_what_was_filled_in_is_still_there_after_a_mistake() -> None:
    card = filled_in(card_of(QUESTION, ADA, NOW), {"field.count": "many", "field.verdict": "1"})
    assert {field.name: field.value for field in card.fields if field.value} == {
        "field.count": "many", "field.verdict": "1"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "reader", "why"),
    [
        ({}, ADA, ""),
        ({"assignee": "ada"}, ADA, ""),
        ({"assignee": "bob"}, ADA, "It is up to bob to answer."),
        ({"groups": ("legal", "board")}, ADA, "Only the group legal or board may answer."),
        ({"groups": ("legal",)}, replace(ADA, groups=frozenset({"legal"})), ""),
        ({"groups": ("legal",)}, replace(ADA, id="bot", groups=frozenset({"legal"})), "The run acts for you"),
        (
            {"groups": ("legal",), "also_requested_by": ("ada",)},
            replace(ADA, groups=frozenset({"legal"})),
            "You have asked for a run that this one was forked from",
        ),
    ],
)
def test_who_may_not_answer_is_told_beforehand(changed: dict, reader: Principal, why: str) -> None:
    found = obstacle(replace(QUESTION, **changed), reader)
    assert found.startswith(why) if why else found == ""
    assert bool(card_of(replace(QUESTION, **changed), reader, NOW).kept_from("No.").obstacle)
