"""What people see of a run."""

import io
import itertools
import json
import re
from datetime import UTC, datetime

import pytest

from tuvl.cli.live import JsonLines, LiveStatus, PlainLines, Silence, view_for
from tuvl.cli.wording import cost, count, reason, seconds, summary
from tuvl.events.progress import Progress
from tuvl.events.types import (
    AgentEnded,
    Event,
    EventBody,
    Iteration,
    ModelCallStarted,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    ToolCallFinished,
    ToolCallStarted,
)


def event(body: EventBody, step: str) -> Event:
    return events((step, body))[0]


class Terminal(io.StringIO):
    """A terminal that remembers what was written, and knows what a person would see."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    @property
    def screen(self) -> list[str]:
        lines = [""]
        for part in re.split(r"(\r|\n)", re.sub(r"\x1b\[\d+m", "", self.getvalue())):
            if part == "\n":
                lines.append("")
            elif part != "\r" and part:
                text, clears, rest = part.partition("\x1b[K")
                assert not rest
                lines[-1] = text + ("" if clears else lines[-1][len(text) :])
        return lines


class AsciiTerminal(Terminal):
    encoding = "ascii"

    def write(self, text: str) -> int:
        text.encode("ascii")
        return super().write(text)


def events(*bodies: tuple[str | None, EventBody]) -> list[Event]:
    at = datetime(2025, 1, 1, tzinfo=UTC)
    return [Event(run_id="r1", seq=seq, at=at, step_id=step, body=body) for seq, (step, body) in enumerate(bodies, 1)]


TURN = events(
    (None, RunStarted(workflow="triage", schema_version="v1")),
    ("load", StepStarted(kind="APICall")),
    ("load", StepFinished(kind="APICall", signal="default", duration_ms=12.4)),
    ("agent", StepStarted(kind="Agent")),
    ("agent", ModelCallStarted(iteration=1, attempt=1)),
    ("agent", Iteration(iteration=1, tool_calls=1, tokens_used=1240, cost_usd=0.0021)),
    ("agent", ToolCallStarted(iteration=1, tool="lookup", call_id="c1")),
)
END = events(
    ("agent", ToolCallFinished(iteration=1, tool="lookup", call_id="c1", signal="default", duration_ms=3)),
    ("agent", ModelCallStarted(iteration=2, attempt=1)),
    ("agent", Iteration(iteration=2, tool_calls=0, tokens_used=2000, cost_usd=0.004)),
    ("agent", AgentEnded(iteration=2, signal="resolved")),
    ("agent", StepFinished(kind="Agent", signal="resolved", duration_ms=2345)),
    (None, RunFinished(status="completed", signal="resolved", duration_ms=2400)),
)


def live(terminal: Terminal, *, colour: bool = False, columns: int = 80) -> LiveStatus:
    return LiveStatus(terminal, colour=colour, now=itertools.count(0, 2).__next__, columns=columns)


def test_status_line_tells_step_turn_tool_time_tokens_and_cost() -> None:
    terminal = Terminal()
    view = live(terminal)
    for event in TURN:
        view.accept(event)
    assert terminal.screen == [
        "✓ load (APICall) → default · 12 ms",
        "› agent · turn 1 · lookup · 12.0 s · 1,240 tokens · $0.0021",
    ]


def test_calls_that_a_run_has_on_record_are_in_the_line_of_its_agent() -> None:
    """They do not begin again in the process that goes on; what their turns asked for is told there."""
    told = [event for event in TURN if not isinstance(event.body, ToolCallStarted | ModelCallStarted)]
    written = io.StringIO()
    view = PlainLines(written)
    for event in [*told, *END]:
        view.accept(event)
    assert "agent (Agent) -> resolved, 2 turns, 1 tool call, 2.3 s" in written.getvalue()


def test_closed_view_leaves_one_line_for_each_step_and_no_status() -> None:
    terminal = Terminal()
    view = live(terminal)
    for event in [*TURN, *END]:
        view.accept(event)
    view.close()
    view.tick()
    view.say("completed")
    assert terminal.screen == [
        "✓ load (APICall) → default · 12 ms",
        "✓ agent (Agent) → resolved · 2 turns · 1 tool call · 2.3 s",
        "✓ completed",
        "",
    ]


def test_status_line_is_written_over_and_never_blanked_first() -> None:
    terminal = Terminal()
    view = live(terminal)
    for event in TURN:
        view.accept(event)
    view.tick()
    assert "\x1b[2K" not in terminal.getvalue()
    assert "\r\x1b[K" not in terminal.getvalue()


def test_status_that_has_not_changed_is_not_painted_again() -> None:
    terminal = Terminal()
    view = LiveStatus(terminal, colour=False, now=lambda: 1.0, columns=80)
    view.tick()
    before = terminal.getvalue()
    view.tick()
    assert terminal.getvalue() == before


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (20, "› agent · turn 1"),
        (28, "› agent · turn 1 · lookup"),
        (45, "› agent · turn 1 · lookup · 12.0 s"),
        (55, "› agent · turn 1 · lookup · 12.0 s · 1,240 tokens"),
    ],
)
def test_narrow_terminal_leaves_out_the_last_parts_so_that_the_line_never_wraps(columns: int, shown: str) -> None:
    terminal = Terminal()
    view = live(terminal, columns=columns)
    for event in TURN:
        view.accept(event)
    assert terminal.screen[-1] == shown


def test_step_name_that_is_longer_than_the_terminal_is_cut() -> None:
    terminal = Terminal()
    view = live(terminal, columns=20)
    for event in events(("a" * 40, StepStarted(kind="Agent"))):
        view.accept(event)
    assert terminal.screen[-1] == "› " + "a" * 16 + "…"


def test_failed_step_has_its_own_mark() -> None:
    terminal = Terminal()
    view = live(terminal)
    for event in events(
        ("a", StepStarted(kind="Agent")), ("a", StepFinished(kind="Agent", signal="error", duration_ms=1))
    ):
        view.accept(event)
    assert terminal.screen[0] == "✗ a (Agent) → error · 1 ms"


def test_terminal_without_unicode_gets_ascii() -> None:
    terminal = AsciiTerminal()
    view = live(terminal, columns=30)
    for event in TURN:
        view.accept(event)
    assert terminal.screen[0] == "+ load (APICall) -> default, 12 ms"


def test_colours_come_only_when_asked_for() -> None:
    with_colour, without = Terminal(), Terminal()
    live(with_colour, colour=True).say("done")
    live(without).say("done")
    assert "\x1b[32m" in with_colour.getvalue()
    assert with_colour.screen == without.screen
    assert "\x1b[3" not in without.getvalue()


def test_terminal_that_is_gone_does_not_break_the_view() -> None:
    class Gone(Terminal):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    view = live(Gone())
    view.tick()
    view.say("still here")
    view.close()


@pytest.mark.parametrize("view", [PlainLines, JsonLines, Silence])
def test_what_was_asked_for_and_is_not_done_is_told_by_every_view(
    view: type[PlainLines] | type[JsonLines] | type[Silence],
) -> None:
    stream = io.StringIO()
    view(stream).warn("the answer\x1b[2J was not used")
    assert stream.getvalue() == "tuvl: the answer\\x1b[2J was not used\n"


def test_plain_lines_have_no_control_codes_and_one_line_for_each_turn_and_step() -> None:
    stream = io.StringIO()
    view = PlainLines(stream)
    for event in [*TURN, *END]:
        view.accept(event)
    view.tick()
    view.close()
    assert stream.getvalue().splitlines() == [
        "tuvl: load (APICall) -> default, 12 ms",
        "tuvl: agent: turn 1, 1 tool call, 1,240 tokens",
        "tuvl: agent: turn 2, 0 tool calls, 2,000 tokens",
        "tuvl: agent (Agent) -> resolved, 2 turns, 1 tool call, 2.3 s",
    ]


def test_json_lines_are_one_event_each_in_the_form_of_the_wire() -> None:
    stream = io.StringIO()
    view = JsonLines(stream)
    for event in [*TURN, *END]:
        view.accept(event)
    view.say("not for programs")
    wire = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [each["type"] for each in wire] == [event.body.type for event in [*TURN, *END]]
    assert wire[-1] == {
        "type": "run_finished",
        "run_id": "r1",
        "seq": 6,
        "at": "2025-01-01T00:00:00+00:00",
        "step_id": None,
        "status": "completed",
        "signal": "resolved",
        "duration_ms": 2400,
        "dropped": 0,
    }


def test_person_is_told_how_many_events_the_terminal_was_too_slow_for() -> None:
    body = RunFinished(status="completed", signal="resolved", duration_ms=1, dropped=3)
    for stream in (Terminal(), io.StringIO()):
        view = live(stream) if isinstance(stream, Terminal) else PlainLines(stream)
        view.accept(events((None, body))[0])
        assert "3 events not shown: the reader was too slow" in stream.getvalue()


def test_silence_says_nothing_but_a_question() -> None:
    stream = io.StringIO()
    view = Silence(stream)
    for event in TURN:
        view.accept(event)
    view.say("x")
    view.tick()
    assert stream.getvalue() == ""
    view.question(["Refund?"], "[y/N] ")
    view.answered()
    view.close()
    assert stream.getvalue() == "Refund?\n[y/N] "


def test_status_line_waits_while_a_question_stands() -> None:
    stream, now = Terminal(), itertools.count()
    view = LiveStatus(stream, colour=False, now=lambda: float(next(now)), columns=80)
    view.tick()
    view.question(["Refund?"], "[y/N] ")
    before = stream.getvalue()
    view.tick()
    assert stream.getvalue() == before
    assert before.endswith("Refund?\n[y/N] ")
    view.answered()
    view.tick()
    assert len(stream.getvalue()) > len(before)


def test_steps_inside_a_step_are_told_under_their_own_names_and_items_of_a_list_are_not() -> None:
    stream = io.StringIO()
    view = PlainLines(stream)
    for step in ("call", "call/double", "each", "each[0]/body"):
        view.accept(event(StepStarted(kind="Functional"), step))
    for step in ("each[0]/body", "each", "call/double", "call"):
        view.accept(event(StepFinished(kind="Functional", signal="default", duration_ms=1), step))
    lines = [line.split(" (")[0] for line in stream.getvalue().splitlines()]
    assert lines == ["tuvl: each", "tuvl: call/double", "tuvl: call"]


def test_tokens_of_an_agent_inside_a_tool_are_not_counted_twice() -> None:
    progress = Progress()
    progress.follow(event(StepStarted(kind="Agent"), "agent"))
    progress.follow(event(StepStarted(kind="Agent"), "research/think"))
    for step, tokens in (("research/think", 40), ("agent", 100)):
        progress.follow(event(Iteration(iteration=1, tool_calls=1, tokens_used=tokens, cost_usd=1.0), step))
    assert (progress.tokens, progress.cost_usd) == (100, 1.0)


@pytest.mark.parametrize(
    ("stream", "environ", "kind"),
    [
        (Terminal(), {"TERM": "xterm"}, LiveStatus),
        (Terminal(), {"TERM": "dumb"}, PlainLines),
        (Terminal(), {}, PlainLines),
        (io.StringIO(), {"TERM": "xterm"}, PlainLines),
    ],
)
def test_live_view_is_for_terminals_that_can_repaint(
    stream: io.StringIO, environ: dict[str, str], kind: type[object]
) -> None:
    assert type(view_for(stream, environ)) is kind


def test_no_color_takes_the_colours_and_keeps_the_live_line() -> None:
    terminal = Terminal()
    view = view_for(terminal, {"TERM": "xterm", "NO_COLOR": "1"})
    view.say("done")
    assert isinstance(view, LiveStatus)
    assert "\x1b[3" not in terminal.getvalue()


def test_usage_adds_up_over_steps_and_one_unknown_price_makes_the_cost_unknown() -> None:
    progress = Progress()
    for event in events(
        ("a", StepStarted(kind="Agent")),
        ("a", Iteration(iteration=1, tool_calls=0, tokens_used=10, cost_usd=0.5)),
        ("a", Iteration(iteration=2, tool_calls=0, tokens_used=30, cost_usd=1.5)),
        ("b", StepStarted(kind="Agent")),
        ("b", Iteration(iteration=1, tool_calls=0, tokens_used=5, cost_usd=0.25)),
    ):
        progress.follow(event)
    assert (progress.tokens, progress.cost_usd) == (35, 1.75)
    for event in events(
        ("c", StepStarted(kind="Agent")),
        ("c", Iteration(iteration=1, tool_calls=0, tokens_used=5, cost_usd=None)),
        ("d", StepStarted(kind="Agent")),
        ("d", Iteration(iteration=1, tool_calls=0, tokens_used=5, cost_usd=1.0)),
    ):
        progress.follow(event)
    assert (progress.tokens, progress.cost_usd) == (45, None)


def test_retry_of_a_model_call_is_shown() -> None:
    progress = Progress()
    for event in events(("a", StepStarted(kind="Agent")), ("a", ModelCallStarted(iteration=2, attempt=3))):
        progress.follow(event)
    assert progress.status(0.5) == ["a", "turn 2", "attempt 3", "500 ms"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "<1 ms"),
        (0.0124, "12 ms"),
        (1, "1.0 s"),
        (59.94, "59.9 s"),
        (0.99951, "1.0 s"),
        (59.97, "1 min 00 s"),
        (60, "1 min 00 s"),
        (185.4, "3 min 05 s"),
    ],
)
def test_durations_are_worded_for_people(value: float, text: str) -> None:
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("usd", "text"), [(None, "cost unknown"), (0, "$0.00"), (0.0021, "$0.0021"), (0.5, "$0.5000"), (12.345, "$12.35")]
)
def test_unknown_cost_is_never_shown_as_zero(usd: float | None, text: str) -> None:
    assert cost(usd) == text


def test_counts_know_one_from_many() -> None:
    assert [count(number, "turn") for number in (0, 1, 2, 1000)] == ["0 turns", "1 turn", "2 turns", "1,000 turns"]


def test_summary_tells_status_signal_usage_and_time() -> None:
    usage = {"llm_calls": 3, "tool_calls": 1, "total_tokens": 1240, "cost_usd": None, "estimated": True}
    line = summary({"status": "completed", "signal": "resolved", "usage": usage, "duration_ms": 4500.0})
    assert line == "completed on 'resolved' · 3 model calls · 1 tool call · about 1,240 tokens · cost unknown · 4.5 s"


def test_summary_of_a_run_without_models_is_short() -> None:
    usage = {"llm_calls": 0, "tool_calls": 0, "total_tokens": 0, "cost_usd": 0.0, "estimated": False}
    assert summary({"status": "failed", "signal": "error", "usage": usage, "duration_ms": 4.5}) == "failed · 4 ms"


def test_reason_names_step_message_and_type() -> None:
    error = {"type": "engine", "message": "no route", "step": "a", "detail": {}}
    assert reason({"error": error}) == "step 'a': no route (engine)"
    assert reason({"error": {**error, "step": None}}) == "no route (engine)"
    assert reason({"error": None}) is None
