"""What a person sees of a reply that is being written."""

import itertools

import pytest

from tests.cli.test_cli_live import Terminal, events
from tuvl.cli.live import LiveStatus, PlainLines
from tuvl.cli.spoken import LINE_LENGTH, SpokenLines
from tuvl.events.types import (
    EventBody,
    Iteration,
    StepFinished,
    StepStarted,
    StreamEnded,
    StreamReset,
    TextDelta,
    TextWithheld,
    ToolCallDelta,
)


def words(*texts: str, turn: int = 1) -> list[EventBody]:
    return [TextDelta(iteration=turn, text=text) for text in texts]


def turn(number: int = 1) -> EventBody:
    return Iteration(iteration=number, tool_calls=0, tokens_used=7, cost_usd=None)


def lines(*bodies: EventBody, step: str = "agent") -> list[str]:
    spoken = SpokenLines()
    return [line for event in events(*((step, body) for body in bodies)) for line in spoken.take(event)]


def test_lines_are_shown_when_they_are_whole() -> None:
    spoken = SpokenLines()
    shown = [spoken.take(event) for event in events(*(("a", body) for body in words("One ", "line.\nAnd ", "more")))]
    assert shown == [[], ["One line."], []]


@pytest.mark.parametrize("end", [turn(), StreamEnded(iteration=1, finish_reason="stop")], ids=["turn", "end"])
def test_the_rest_is_shown_at_the_end_of_the_turn(end: EventBody) -> None:
    assert lines(*words("No line ", "end"), end) == ["No line end"]


def test_a_long_line_is_broken_between_words_and_one_without_words_where_it_must_be() -> None:
    shown = lines(*words("word " * 60, "x" * 250), turn())
    assert all(len(line) <= LINE_LENGTH for line in shown)
    assert " ".join(shown[:3]).split() == ["word"] * 60
    assert "".join(shown[3:]).count("x") == 250


def test_what_was_shown_of_a_void_reply_is_said_to_be_void_and_the_rest_is_not_shown() -> None:
    void, again = StreamReset(iteration=1), [*words("All of it."), turn()]
    assert lines(*words("Half\nof"), void, *again) == [
        "Half",
        "(that reply was cut off and does not count)",
        "All of it.",
    ]
    assert lines(*words("Half of"), void, *again) == ["All of it."]


def test_agents_that_speak_at_once_do_not_mix() -> None:
    spoken = SpokenLines()
    said = [("a", "One "), ("b", "Two "), ("a", "first.\n"), ("b", "second.\n")]
    shown = [spoken.take(event) for event in events(*((step, words(text)[0]) for step, text in said))]
    assert shown == [[], [], ["One first."], ["Two second."]]


def test_control_characters_of_a_model_reach_no_terminal() -> None:
    shown = lines(*words("a\x1b[2Jb\x07\rc\td\u202ee\u200b\x9bf"), turn())
    assert shown == ["a\\x1b[2Jb\\x07 c d\\u202ee\\u200b\\x9bf"]


def test_terminal_shows_text_above_the_status_line() -> None:
    terminal = Terminal()
    view = LiveStatus(terminal, colour=False, now=itertools.count(0, 2).__next__, columns=80)
    said = [StepStarted(kind="Agent"), *words("Let me ", "see.\nI "), ToolCallDelta(iteration=1, tool="lookup")]
    for event in events(*(("agent", body) for body in said)):
        view.accept(event)
    assert terminal.screen == ["│ Let me see.", "› agent · asking for lookup · 8.0 s"]


def test_log_names_who_speaks() -> None:
    stream = Terminal()
    view = PlainLines(stream)
    end = StepFinished(kind="Agent", signal="default", duration_ms=7)
    withheld = TextWithheld(iteration=1, reason="output_guardrail")
    said = [StepStarted(kind="Agent"), *words("One.\n\nTwo."), turn(), withheld, end]
    for event in events(*(("agent", body) for body in said)):
        view.accept(event)
    assert stream.getvalue().splitlines() == [
        "tuvl: agent says: One.",
        "tuvl: agent says: Two.",
        "tuvl: agent: turn 1 · 0 tool calls · 7 tokens",
        "tuvl: agent says: (the text is not shown while it is written: a guardrail looks at the whole of it first)",
        "tuvl: agent (Agent) → default · 1 turn · 7 ms",
    ]
