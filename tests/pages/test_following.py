"""Where a run stands, as its events tell it."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import get_args

import pytest

from tuvl.events.types import (
    AgentEnded,
    ApprovalDecided,
    ApprovalRequested,
    Event,
    EventBody,
    Heartbeat,
    Intervened,
    Iteration,
    ModelCallStarted,
    RunFinished,
    RunResumed,
    RunStarted,
    RunSuspended,
    StepFinished,
    StepStarted,
    StreamEnded,
    StreamReset,
    TextDelta,
    TextWithheld,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallStarted,
)
from tuvl.server.following import KEPT_EVENTS, Following, place_of
from tuvl.server.telling import told

BEGAN = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def events(*bodies: tuple[str | None, EventBody]) -> Iterator[Event]:
    for seq, (step, body) in enumerate(bodies):
        yield Event(run_id="r", seq=seq, at=BEGAN + timedelta(seconds=seq), step_id=step, body=body)


def began(kind: str = "Agent") -> StepStarted:
    return StepStarted(kind=kind)


def ended(signal: str = "default", kind: str = "Agent", duration_ms: float = 500.0) -> StepFinished:
    return StepFinished(kind=kind, signal=signal, duration_ms=duration_ms)


def turn(number: int, tokens: int, *, tools: int = 0, usd: float | None = 0.5) -> Iteration:
    return Iteration(iteration=number, tool_calls=tools, tokens_used=tokens, cost_usd=usd)


def called(call: str, tool: str = "look") -> ToolCallStarted:
    return ToolCallStarted(iteration=1, tool=tool, call_id=call)


def answered(call: str, tool: str = "look", signal: str = "default") -> ToolCallFinished:
    return ToolCallFinished(iteration=1, tool=tool, call_id=call, signal=signal, duration_ms=3.0)


def test_a_run_in_a_tool_shows_its_step_turn_and_tools() -> None:
    following = Following.of(
        events(
            (None, RunStarted(workflow="w", schema_version="v1")),
            ("load", began("APICall")),
            ("load", ended(kind="APICall")),
            ("agent", began()),
            ("agent", ModelCallStarted(iteration=1, attempt=1)),
            ("agent", turn(1, 700, tools=2)),
            ("agent", called("a")),
            ("agent", called("b", "send")),
            ("agent", answered("a")),
        )
    )
    step = following.current
    assert step is not None
    assert (step.place, step.state, step.turn, step.tool_calls, step.tokens) == ("agent", "running", 1, 2, 700)
    assert list(step.tools.values()) == ["send"]
    assert following.in_flight == {"send"}
    assert following.called == {"look": 1, "send": 1}
    assert following.steps["load"].state == "done"
    assert (following.steps_taken, following.turns, following.tool_calls) == (2, 1, 2)
    assert following.started_at == BEGAN


@pytest.mark.parametrize(
    ("signal", "state"),
    [
        ("default", "done"),
        ("escalated", "done"),
        ("error", "failed"),
        ("max_iterations", "failed"),
        ("aborted", "aborted"),
    ],
)
def test_a_step_that_ended_is_in_the_state_of_its_signal(signal: str, state: str) -> None:
    following = Following.of(events(("a", began()), ("a", ended(signal))))
    assert (following.steps["a"].state, following.steps["a"].signal) == (state, signal)
    assert following.current is None


def test_items_of_a_list_share_a_place_that_runs_until_the_last_has_ended() -> None:
    bodies = [("each", began("ForEach")), ("each[0]/say", began()), ("each[1]/say", began()), ("each[0]/say", ended())]
    following = Following.of(events(*bodies))
    step = following.steps["each/say"]
    assert (step.executions, step.open, step.state) == (2, 1, "running")
    following = Following.of(events(*bodies, ("each[1]/say", ended())))
    assert following.steps["each/say"].state == "done"
    assert place_of("each[0]/inner[12]/say") == "each/inner/say"


def test_a_second_execution_of_an_agent_counts_its_bounds_from_zero() -> None:
    first = [("a", began()), ("a", turn(1, 900)), ("a", called("x")), ("a", answered("x")), ("a", ended())]
    following = Following.of(events(*first, ("a", began())))
    step = following.steps["a"]
    assert (step.executions, step.turn, step.tool_calls, step.tokens, step.cost_usd) == (2, 0, 0, 0, None)
    assert following.progress.tokens == 900
    assert step.busy_ms == 500.0


def later(event: Event, seconds: float) -> Event:
    return replace(event, at=event.at + timedelta(seconds=seconds))


def test_time_in_which_nobody_has_a_run_is_no_time_of_its_steps() -> None:
    resumed = RunResumed(workflow="w", schema_version="v1")
    told = list(
        events(
            ("a", began()),
            ("a", turn(1, 10)),
            (None, RunSuspended()),
            (None, resumed),
            ("a", turn(2, 20)),
            (None, resumed),
            ("a", turn(3, 30)),
        )
    )
    # Answered after an hour; its process died after the second turn, and another one took it after two.
    told = [*told[:3], *(later(event, 3600) for event in told[3:5]), *(later(event, 3 * 3600) for event in told[5:])]
    following = Following.of(told[:3])
    assert following.steps["a"].busy_s(BEGAN + timedelta(seconds=1000)) == 2.0, "while it waits"
    following = Following.of(told)
    assert following.steps["a"].busy_s(told[-1].at) == 2.0 + 1.0 + 1.0
    assert following.away_s == (3600 + 1) + (2 * 3600 + 1)


def test_an_event_that_comes_twice_counts_once() -> None:
    following = Following()
    once = list(events(("a", began()), ("a", turn(1, 10))))
    for event in [*once, *once]:
        following.accept(event)
    assert (following.turns, following.steps_taken, following.log_lines) == (1, 1, 2)


def test_a_reader_that_came_late_shows_the_steps_it_hears_of() -> None:
    following = Following.of(events(("a", turn(3, 10)), ("b", ended("error", "APICall"))))
    assert following.steps["a"].turn == 3
    assert following.steps["b"].state == "failed"


def test_a_call_that_waits_for_approval_shows_that_it_waits_for_a_person() -> None:
    asked = ApprovalRequested(iteration=1, tool="pay", call_id="x")
    decided = ApprovalDecided(iteration=1, tool="pay", call_id="x", approved=True, by="ada", duration_ms=1.0)
    following = Following.of(events(("a", began()), ("a", asked)))
    assert following.steps["a"].state == "waiting"
    assert Following.of(events(("a", began()), ("a", asked), ("a", decided))).steps["a"].state == "running"


def test_pause_and_resume_show_in_the_state_of_the_run() -> None:
    pause = Intervened(action="pause", source="operator", by="ada")
    resume = Intervened(action="resume", source="operator", by="ada")
    assert Following.of(events((None, pause))).paused
    assert not Following.of(events((None, pause), (None, resume))).paused


@pytest.mark.parametrize(("status", "state"), [("suspended", "waiting"), ("aborted", "aborted"), ("failed", "failed")])
def test_a_step_in_flight_when_the_run_stops_is_left_in_the_state_of_that_end(status: str, state: str) -> None:
    over = RunFinished(status=status, signal=None, duration_ms=1.0)
    following = Following.of(events(("a", began()), ("a", called("x")), (None, over)))
    assert following.steps["a"].state == state
    assert following.in_flight == frozenset()
    assert following.finished == over
    assert following.current is None


def test_the_log_keeps_its_last_lines_and_counts_the_others() -> None:
    bodies = [("a", began())] + [("a", turn(number, number)) for number in range(KEPT_EVENTS + 9)]
    following = Following.of(events(*bodies))
    assert len(following.log) == KEPT_EVENTS
    assert following.log_lines == KEPT_EVENTS + 10
    assert following.log[-1].words.startswith(f"turn {KEPT_EVENTS + 8}: ")


SPOKEN: list[tuple[EventBody, str, str]] = [
    (RunStarted(workflow="w", schema_version="v1"), "the run began", "plain"),
    (began("Router"), "began (Router)", "plain"),
    (ended("resolved", duration_ms=4200), "ended on resolved after 4.2 s", "good"),
    (ended("timeout"), "ended on timeout after 500 ms", "bad"),
    (ModelCallStarted(iteration=2, attempt=2), "turn 2: the model is asked again, attempt 2", "plain"),
    (turn(2, 1200, tools=2), "turn 2: the model asks for 2 tools · 1,200 tokens, $0.5000 so far", "turn"),
    (turn(2, 1, usd=None), "turn 2: the model answers · 1 token, cost unknown so far", "turn"),
    (called("x"), "turn 1: look begins", "tool"),
    (answered("x"), "turn 1: look → default after 3 ms", "tool"),
    (answered("x", signal="error"), "turn 1: look → error after 3 ms", "bad"),
    (ApprovalRequested(iteration=1, tool="pay", call_id="x"), "turn 1: pay waits for approval", "person"),
    (
        ApprovalDecided(iteration=1, tool="pay", call_id="x", approved=False, by="ada", duration_ms=1.0),
        "turn 1: pay was refused by ada",
        "person",
    ),
    (Intervened(action="steer", source="operator", by="ada"), "steered by a person (ada)", "person"),
    (
        Intervened(action="abort", source="rule", by="no_progress", reason="3 turns"),
        "aborted by the rule (no_progress): 3 turns",
        "person",
    ),
    (
        AgentEnded(iteration=4, signal="error", error_type="timeout"),
        "turn 4: the agent left its loop on error (timeout)",
        "plain",
    ),
    (StreamReset(iteration=1), "turn 1: what the model had said so far is void; its call is made again", "plain"),
    (
        TextWithheld(iteration=1, reason="output_guardrail"),
        "turn 1: the text is held back until its guardrail has seen it whole",
        "plain",
    ),
    (
        RunFinished(status="completed", signal="resolved", duration_ms=9000),
        "the run completed on resolved after 9.0 s",
        "good",
    ),
    (
        RunFinished(status="failed", signal="error", duration_ms=9000, dropped=2),
        "the run failed after 9.0 s; 2 events were not told",
        "bad",
    ),
    (RunFinished(status="suspended", signal=None, duration_ms=1), "the run waits for a person", "person"),
]


@pytest.mark.parametrize(("body", "words", "look"), SPOKEN, ids=[words for _, words, _ in SPOKEN])
def test_an_event_is_told_in_one_line(body: EventBody, words: str, look: str) -> None:
    line = told(body)
    assert line is not None
    assert (line.words, line.look) == (words, look)


@pytest.mark.parametrize(
    "body",
    [
        ModelCallStarted(iteration=1, attempt=1),
        Heartbeat(iteration=1, activity="model", elapsed_s=1.0),
        TextDelta(iteration=1, text="secret words"),
        ToolCallDelta(iteration=1, tool="look"),
        StreamEnded(iteration=1, finish_reason=None),
    ],
)
def test_what_says_nothing_by_itself_is_no_line_of_the_log(body: EventBody) -> None:
    assert told(body) is None


def test_a_page_looks_again_at_each_event_but_those_of_which_there_may_be_hundreds_and_that_have_no_line():
    script = (files("tuvl.server.pages") / "assets" / "pages.js").read_text(encoding="utf-8")
    (listed,) = re.findall(r"const types = \[(.*?)\];", script, re.DOTALL)
    unheard = {TextDelta, ToolCallDelta, StreamEnded}
    assert set(re.findall(r'"(\w+)"', listed)) == {kind.type for kind in get_args(EventBody) if kind not in unheard}
