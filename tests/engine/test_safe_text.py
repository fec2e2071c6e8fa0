"""What models, nodes and tools say is shown, and obeyed by no terminal."""

import io
import json
import logging
from datetime import UTC, datetime

import pytest

from tests.engine.run_support import Project
from tuvl.cli.live import LiveStatus, PlainLines
from tuvl.cli.output import json_document
from tuvl.cli.runs_text import trace_text
from tuvl.cli.wording import reason
from tuvl.events.types import Event, StepFinished, StepStarted, ToolCallStarted
from tuvl.values import printable, printable_lines, shorten

NASTY = "a\x1b[2J\x07\x9b31mb\u202ec\u2066d\u2028e\u200bf\ufeffg\U000e0041"
SHOWN = r"a\x1b[2J\x07\x9b31mb\u202ec\u2066d\u2028e\u200bf\ufeffg\U000e0041"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (NASTY, SHOWN),
        ("one\ntwo\r\t\x7f", r"one\ntwo\r\t\x7f"),
        ("half \ud83d an emoji", r"half \ud83d an emoji"),
        ("Grüße, 東京 → 12\u00a0€", "Grüße, 東京 → 12\u00a0€"),
        ("👩\u200d💻 نمی\u200cخواهم", "👩\u200d💻 نمی\u200cخواهم"),
    ],
    ids=["nasty", "lines", "surrogate", "letters", "joiners"],
)
def test_what_a_terminal_would_obey_is_escaped_and_letters_of_all_scripts_stay(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_line_breaks_stay_where_whoever_prints_has_made_them() -> None:
    assert printable_lines("one\x1b\ntwo\r\n") == "one\\x1b\ntwo\\r\n"


def test_shortened_text_is_one_safe_line() -> None:
    assert shorten(f"one\n two {NASTY}".replace("\u2028", "")) == f"one two {SHOWN}".replace(r"\u2028", "")
    assert len(shorten("\x1b" * 500)) == 200


def test_result_document_holds_the_same_values_and_nothing_that_a_terminal_obeys() -> None:
    text = json_document({"said": NASTY, "naïve": ["ok"]})
    assert json.loads(text) == {"said": NASTY, "naïve": ["ok"]}
    assert all(each.isprintable() or each == "\n" for each in text)
    assert "naïve" in text


RAISES = f"""
    from tuvl import node

    @node("raises")
    def raises(ctx):
        raise ValueError({NASTY!r})
    """


async def test_last_error_of_a_node_that_raised_is_one_line_safe_to_show(tmp_path) -> None:
    steps = """
        - { id: work, kind: Functional, runner: raises, routes: { error: keep } }
        - { id: keep, kind: Functional, runner: set, values: { why: "{{ _last_error }}" } }
        """
    result = await Project(tmp_path, steps).node(RAISES).run()
    assert result.error is not None
    assert result.error.message == result.context["why"]
    assert r"\x1b[2J\x07\x9b31mb\u202ec" in result.error.message
    assert result.error.message.isprintable()


async def test_log_step_writes_one_line_whatever_is_in_it(tmp_path, caplog) -> None:
    steps = '- { id: a, kind: Functional, runner: log, message: "said {{ text }}" }'
    with caplog.at_level(logging.INFO, "tuvl.workflow"):
        await Project(tmp_path, steps).run({"text": "one\ntuvl: completed\x1b[2J"})
    assert [record.getMessage() for record in caplog.records] == [r"said one\ntuvl: completed\x1b[2J"]


class Terminal(io.StringIO):
    encoding = "utf-8"


def test_names_that_models_and_nodes_make_up_reach_no_terminal() -> None:
    at = datetime(2030, 1, 1, tzinfo=UTC)
    bodies = [
        StepStarted(kind="Agent"),
        ToolCallStarted(iteration=1, tool=f"\n{NASTY}", call_id="1"),
        StepFinished(kind="Agent", signal=f"\n{NASTY}", duration_ms=1),
    ]
    for make in (lambda stream: LiveStatus(stream, colour=False, columns=200), PlainLines):
        stream = Terminal()
        view = make(stream)
        for seq, body in enumerate(bodies):
            view.accept(Event(run_id="r", seq=seq, at=at, step_id="agent", body=body))
        view.say(f"warning: {NASTY}")
        view.question([NASTY], "Approve? ")
        text = stream.getvalue().replace("\x1b[K", "").replace("\r", "")
        assert all(line.isprintable() for line in text.split("\n"))
        assert r"\n" + SHOWN in text
        assert text.count("\n") == 3


def test_reason_of_a_run_is_one_line() -> None:
    said = reason({"error": {"type": "x", "message": "one\ntwo\x1b", "step": "a"}})
    assert said == r"step 'a': one\ntwo\x1b (x)"


def test_audited_calls_are_told_without_what_a_terminal_obeys() -> None:
    entry = {"type": "tool_call", "step_id": "a", "iteration": 1, "tool": "t", "signal": "default"}
    text = trace_text([{**entry, "arguments": {"q": NASTY}, "content": NASTY}])
    assert text.replace("\n", "").isprintable()
