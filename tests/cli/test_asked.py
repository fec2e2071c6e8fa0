"""What whoever decides at the command line is shown of it, and which answers fit what a run waits for."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from tuvl.cli.answering import Decision, Said, value_for
from tuvl.cli.approving import question_lines
from tuvl.cli.asked import asked_by, asked_lines, next_command
from tuvl.errors import UsageError
from tuvl.principal import Principal
from tuvl.redaction import register_secret
from tuvl.tools.approval import ApprovalRequest
from tuvl.values import JsonObject, JsonValue

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
FIELDS: list[JsonValue] = [
    {"name": "verdict", "type": "choice", "required": True, "label": None, "choices": ["pay", "7", 7, True, "true"]},
    {"name": "why", "type": "text", "required": False, "label": "Why?", "choices": None},
]


def lines(kind: str, asked: JsonObject, *, deadline: float | None = None, message: str = "it waits") -> list[str]:
    detail: JsonObject = {"wait": "answer", "digest": "0" * 64, "asked": asked}
    if deadline is not None:
        detail["deadline"] = deadline
    wait = asked_by("r1", {"type": kind, "step": "s", "message": message, "detail": detail})
    assert wait is not None
    return list(asked_lines(wait, since="2026-05-04 11:00:00 UTC", requester="bot", now=NOW))


QUESTION: JsonObject = {
    "title": "Pay 7 EUR?",
    "instruction": "Look first.\nThen say so.",
    "shown": {"sum": 7, "note": "a\nb", "data": {"x": 1}},
    "fields": FIELDS,
    "required_group": "finance",
    "assignee": None,
    "requested_by": "bot",
}


def test_a_question_is_shown_whole_with_its_fields_who_may_answer_until_when_and_the_command() -> None:
    assert lines("question", QUESTION, deadline=NOW.timestamp() + 60) == [
        "waits       for an answer to the question of step 's', since 2026-05-04 11:00:00 UTC",
        "for         group finance, and not 'bot', who has asked for it",
        "until       2026-05-04 12:01:00 UTC",
        "asks        Pay 7 EUR?",
        "            Look first.",
        "            Then say so.",
        "shown       sum: 7",
        "shown       note:",
        "              a",
        "              b",
        "shown       data:",
        "              {",
        '                "x": 1',
        "              }",
        'field       verdict: required, choice of pay, "7", 7, true, "true"',
        "field       why (Why?): optional, text",
        "next        tuvl resume r1 --answer FILE --principal FILE",
    ]


def test_of_a_question_whose_time_is_over_no_answer_is_asked_for() -> None:
    shown = lines("question", QUESTION, deadline=NOW.timestamp())
    assert shown[2] == "until       2026-05-04 12:00:00 UTC, which is over"
    assert shown[-1] == "next        tuvl resume r1"


def test_what_somebody_else_wrote_can_neither_act_on_the_terminal_nor_pass_for_another_line() -> None:
    asked = {**QUESTION, "title": "Pay?\nnext        rm -rf .\x1b[2J", "shown": {"a\nb": "x\u2028y"}}
    shown = lines("question", asked)
    assert "            next        rm -rf .\\x1b[2J" in shown
    assert "shown       a\\nb: x\\u2028y" in shown
    assert [line for line in shown if line.startswith("next")] == [shown[-1]]


def test_an_approval_shows_the_call_as_the_prompt_of_a_terminal_does_with_secrets_masked() -> None:
    register_secret("s3cr3t-of-asked")
    arguments: JsonObject = {"amount": 12, "to": ["s3cr3t-of-asked", "a\u2028b\x1b"]}
    shown = lines("approval", {"tool": "refund", "arguments": arguments, "reason": "it is dear"})
    request = ApprovalRequest(
        run_id="r1", step_id="s", iteration=1, tool="refund", call_id="c", arguments=arguments,
        reason="it is dear", requested_by="bot",
    )  # fmt: skip
    prompt = question_lines(request)
    assert [line[12:] for line in shown[2:-1]] == prompt
    assert '    "amount": 12,' in prompt
    assert '      "***",' in prompt
    assert '      "a\\u2028b\\u001b"' in prompt
    assert shown[-1] == "next        tuvl approve r1, or with --deny"


def test_an_outcome_that_nobody_knows_is_shown_with_the_call_and_the_three_answers() -> None:
    told: JsonObject = {"request": {"method": "POST", "url": "https://bank.example/"}}
    shown = lines("outcome_unknown", told, message="step 's' was begun")
    assert "known       step 's' was begun" in shown
    assert '                "url": "https://bank.example/"' in shown
    assert [line.split()[0] for line in shown[-4:-1]] == ["done", "retry", "failed"]
    assert shown[-1] == "next        tuvl resume r1 --outcome done|retry|failed"


def test_an_id_that_a_shell_would_take_apart_is_quoted_in_the_command() -> None:
    wait = asked_by("a b", {"type": "approval"})
    assert wait is not None
    assert next_command(wait, NOW) == "tuvl approve 'a b', or with --deny"


def test_what_cannot_be_opened_is_nothing_that_can_be_answered() -> None:
    assert asked_by("r1", {"type": "encrypted", "message": "set TUVL_RECORD_KEY"}) is None
    assert asked_by("r1", {}) is None


YES = Decision(approved=True, note=None)
ANSWER: JsonObject = {"verdict": "pay"}


def said(**words: object) -> Said:
    given: Mapping[str, object] = {"outcome": None, "answer": None, "decision": None, **words}
    return Said(by=Principal(id="ann"), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "words", "value"),
    [
        ("question", {"answer": ANSWER}, ANSWER),
        ("approval", {"decision": YES}, {"approved": True, "note": None}),
        ("outcome_unknown", {"outcome": "retry"}, {"outcome": "retry", "answer": {}}),
        ("outcome_unknown", {"outcome": "done", "answer": ANSWER}, {"outcome": "done", "answer": ANSWER}),
    ],
)
def test_what_fits_is_the_answer(kind: str, words: dict[str, object], value: JsonObject) -> None:
    assert value_for(said(**words), kind, "r1") == value


@pytest.mark.parametrize(
    ("kind", "words", "why"),
    [
        ("question", {"outcome": "failed", "answer": ANSWER}, "--outcome does not fit"),
        ("question", {"outcome": "done"}, "tuvl resume r1 --answer FILE"),
        ("question", {"decision": YES}, "tuvl resume r1 --answer FILE"),
        ("approval", {"outcome": "done"}, "tuvl approve r1"),
        ("approval", {"answer": ANSWER}, "--answer does not fit"),
        ("approval", {"answer": {}}, "--answer does not fit"),
        ("outcome_unknown", {"decision": YES}, "--outcome done|retry|failed"),
        ("outcome_unknown", {"answer": ANSWER}, "--outcome done|retry|failed"),
        ("outcome_unknown", {"outcome": "retry", "answer": {}}, "goes with --outcome done"),
        ("outcome_unknown", {"outcome": "failed", "answer": ANSWER}, "goes with --outcome done"),
        ("run_left", {"answer": ANSWER}, "nothing that can be answered"),
    ],
)
def test_what_does_not_fit_is_refused_whatever_else_is_said(kind: str, words: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError) as refused:
        value_for(said(**words), kind, "r1")
    assert why in str(refused.value)
