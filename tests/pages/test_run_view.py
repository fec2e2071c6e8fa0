"""What the page of a run shows, made of what is known of it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.engine.run_support import Project
from tests.pages.pages_support import DESK, MEAN
from tuvl.analysis.scope import Waits
from tuvl.events.types import Event, Iteration, RunFinished, RunStarted, StepFinished, StepStarted, ToolCallStarted
from tuvl.project.index import ProjectIndex
from tuvl.server.following import Following
from tuvl.server.pages.bounds import AgentBounds, Bounds
from tuvl.server.pages.gauges import Gauge, Used, run_panel
from tuvl.server.pages.graph import RunGraph, graph_of
from tuvl.server.pages.looks import ago, moment, shown, shown_lines
from tuvl.server.pages.transcript import talk_entry
from tuvl.server.pages.view import Known, run_href, run_line, run_view

BEGAN = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
NOW = BEGAN + timedelta(seconds=90)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> RunGraph:
    root: Path = tmp_path_factory.mktemp("graph")
    project = Project(root)
    project.model({"text": "x"})
    project.workflow(DESK, name="desk", limits={"max_tokens": 5000, "max_cost_usd": 0.5})
    index = ProjectIndex(root)
    document = index.workflow("desk")
    assert document is not None
    return graph_of(document, index, Waits())


def following(*bodies: object) -> Following:
    at = iter(range(100))
    return Following.of(
        Event(run_id="r", seq=seq, at=BEGAN + timedelta(seconds=next(at)), step_id=step, body=body)
        for seq, (step, body) in enumerate(bodies)
    )


def known(graph: RunGraph, **changed: object) -> Known:
    given = {
        "run_id": "r",
        "workflow": "desk",
        "row": {"status": "running", "started_at": BEGAN.isoformat(), "principal": "ada"},
        "live": True,
        "bounds": graph.bounds,
        "places": graph.places,
    }
    return Known(**{**given, **changed})


IN_A_TOOL = (
    (None, RunStarted(workflow="desk", schema_version="v1")),
    ("load", StepStarted(kind="Functional")),
    ("load", StepFinished(kind="Functional", signal="default", duration_ms=2.0)),
    ("triage", StepStarted(kind="Agent")),
    ("triage", Iteration(iteration=1, tool_calls=1, tokens_used=850, cost_usd=0.2)),
    ("triage", ToolCallStarted(iteration=1, tool="weigh", call_id="c")),
)


def test_a_run_that_goes_on_shows_its_step_its_gauges_and_what_it_may_be_told(graph: RunGraph) -> None:
    view = run_view(known(graph, following=following(*IN_A_TOOL)), NOW)
    assert (view.look.word, view.live, view.moving, view.controls) == (
        "running",
        True,
        True,
        ("pause", "steer", "abort"),
    )
    assert view.sentence == "In step triage, turn 1, runs weigh."
    assert view.say == "Step triage is running."
    assert dict(view.facts)["Running for"] == "1 min 30 s"
    assert dict(view.facts)["Tokens"] == "850"
    run, agent = view.panels
    assert [(gauge.label, gauge.text) for gauge in run.gauges] == [
        ("Steps", "2 of 200"),
        ("Tokens", "850 of 5,000"),
        ("Cost", "$0.2000 of $0.50"),
    ]
    assert [(gauge.label, gauge.text, gauge.state) for gauge in agent.gauges] == [
        ("Turns", "1 of 4", "calm"),
        ("Tool calls", "1 of 4", "calm"),
        ("Tokens", "850 of 1,000", "near"),
    ]
    numbers = graph.places.numbers
    assert view.states == {numbers["load"]: "done", numbers["triage"]: "running", numbers["weigh"]: "running"}
    rows = {line.name: (line.look.word, line.often, line.doing) for line in view.steps}
    assert rows["weigh"] == ("running", "called once", "")
    assert rows["triage"] == ("running", "", "weigh")
    assert rows["failed_it"] == ("not reached", "", "")
    assert view.log[0].words == "turn 1: weigh begins"


def test_the_picture_marks_each_step_with_its_state_and_nothing_else(graph: RunGraph) -> None:
    marked = graph.marked({1: "done", 3: "running"})
    assert 'id="card-1" data-step="1" data-state="done"' in marked
    assert 'id="card-3" data-step="3" data-state="running"' in marked
    assert 'id="card-2" data-step="2" data-state=""' in marked
    assert marked.count('data-state="done"') == 2, "the box, and its badge"
    assert 'aria-label="load' not in marked


def test_a_paused_run_can_be_resumed_and_says_where_it_stands(graph: RunGraph) -> None:
    view = run_view(known(graph, following=following(*IN_A_TOOL), paused=True), NOW)
    assert view.look.word == "paused"
    assert view.sentence == "Paused. In step triage, turn 1, runs weigh."
    assert view.controls == ("resume", "steer", "abort")


@pytest.mark.parametrize(
    ("status", "live", "word", "moving", "sentence"),
    [
        ("running", False, "process gone", True, "no process says that it has it"),
        ("queued", False, "queued", True, "waits for a process that takes it"),
        ("suspended", False, "waits for a person", True, "waits for a person"),
        ("completed", False, "completed", False, "The run completed on resolved."),
        ("failed", False, "failed", False, "The run failed: no order"),
        ("aborted", False, "aborted", False, "The run aborted: no order"),
    ],
)
def test_a_run_of_which_only_its_record_is_there_says_how_it_is(
    graph: RunGraph, status: str, live: bool, word: str, moving: bool, sentence: str
) -> None:
    row = {
        "status": status,
        "signal": "resolved",
        "started_at": BEGAN.isoformat(),
        "error": {"message": "no order", "step": "load"} if status in ("failed", "aborted", "suspended") else None,
    }
    view = run_view(known(graph, row=row, live=live), NOW)
    assert (view.look.word, view.moving, view.controls) == (word, moving, ())
    assert sentence in view.sentence
    assert bool(view.error) == (status in ("failed", "aborted"))


def test_a_finished_run_shows_its_steps_and_usage_from_its_result(graph: RunGraph) -> None:
    result = {
        "duration_ms": 4200.0,
        "usage": {"llm_calls": 2, "tool_calls": 1, "total_tokens": 900, "cost_usd": None},
        "output": {"html": MEAN},
        "steps": [
            {"id": "load", "kind": "Functional", "signal": "default", "duration_ms": 1.0},
            {"id": "triage", "kind": "Agent", "signal": "max_iterations", "iteration_count": 4, "duration_ms": 4000.0},
            {"id": "load", "kind": "Functional", "signal": "default", "duration_ms": 1.0},
        ],
    }
    row = {"status": "completed", "signal": "default", "started_at": BEGAN.isoformat(), "result": result}
    view = run_view(known(graph, row=row, live=False), NOW)
    facts = dict(view.facts)
    assert (facts["Took"], facts["Model calls"], facts["Tool calls"], facts["Cost"]) == ("4.2 s", "2", "1", "not known")
    first, agent, again = view.steps[:3]
    assert (agent.look.word, agent.turns, agent.took) == ("failed", 4, "4.0 s")
    assert first.number
    assert not again.number, "an anchor stands once"
    assert MEAN in view.output


def test_events_that_say_the_end_count_before_the_record_does(graph: RunGraph) -> None:
    over = (None, RunFinished(status="aborted", signal=None, duration_ms=5.0))
    view = run_view(known(graph, following=following(*IN_A_TOOL, over)), NOW)
    assert (view.look.word, view.live, view.moving, view.controls) == ("aborted", False, False, ())


@pytest.mark.parametrize("status", ["completed", "failed", "aborted"])
def test_a_run_that_is_over_runs_no_more_though_its_process_still_has_it(graph: RunGraph, status: str) -> None:
    ended = {"started_at": BEGAN.isoformat(), "finished_at": (BEGAN + timedelta(seconds=3)).isoformat()}
    view = run_view(known(graph, row={"status": status, **ended}, live=True, followed=True), NOW)
    assert dict(view.facts)["Took"] == "3.0 s"
    assert "Running for" not in dict(view.facts)
    assert (view.live, view.ticking, view.streaming, view.controls) == (False, False, False, ())


@pytest.mark.parametrize(
    ("status", "live", "word", "streaming"),
    [
        ("queued", False, "queued", True),
        ("queued", True, "running", True),
        ("running", False, "process gone", True),
        ("suspended", False, "waits for a person", False),
        ("completed", False, "completed", False),
    ],
)
def test_a_run_whose_events_may_still_come_is_listened_to(
    graph: RunGraph, status: str, live: bool, word: str, streaming: bool
) -> None:
    row = {"status": status, "started_at": BEGAN.isoformat()}
    view = run_view(known(graph, row=row, live=live, followed=True, following=following(*IN_A_TOOL)), NOW)
    assert (view.look.word, view.streaming) == (word, streaming)


@pytest.mark.parametrize(
    ("used", "state", "warning", "percent"),
    [
        (0, "calm", "", "0 %"),
        (79, "calm", "", "79 %"),
        (80, "near", "nearly used up", "80 %"),
        (130, "full", "used up", "100 %"),
    ],
)
def test_a_gauge_says_in_words_how_near_its_bound_is(used: int, state: str, warning: str, percent: str) -> None:
    gauge = Gauge(id="g", label="Tokens", value=used, limit=100, text="")
    assert (gauge.state, gauge.warning, gauge.percent) == (state, warning, percent)


def test_what_has_no_bound_or_is_not_known_has_no_gauge() -> None:
    bounds = Bounds(steps=10, tokens=100, agents={"a": AgentBounds()})
    panel = run_panel(bounds, Used(steps=3, seconds=1.0, tokens=None, cost_usd=0.1))
    assert [gauge.label for gauge in panel.gauges] == ["Steps"]


def test_a_line_of_the_list_leads_to_its_run_whatever_its_id() -> None:
    line = run_line({"run_id": "a/../b?c#<d>", "status": "completed"}, paused=False, live=False, now=NOW)
    assert line.href == "/runs/a%2F..%2Fb%3Fc%23%3Cd%3E" == run_href("a/../b?c#<d>")
    assert (line.started, line.took, line.used) == ("–", "–", "–")


@pytest.mark.parametrize(
    ("age", "live", "word"), [(3, False, "running"), (60, False, "process gone"), (60, True, "running")]
)
def test_a_run_is_taken_to_be_lost_only_when_its_process_has_had_time_to_say_that_it_has_it(
    graph: RunGraph, age: int, live: bool, word: str
) -> None:
    row = {"run_id": "r", "status": "running", "started_at": (NOW - timedelta(seconds=age)).isoformat()}
    assert run_line(row, paused=False, live=live, now=NOW).look.word == word
    assert run_view(known(graph, row=row, live=live), NOW).look.word == word


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1, "just now"), (59, "59 s ago"), (125, "2 min ago"), (7300, "2 h ago"), (200_000, "02 May 2026")],
)
def test_times_are_told_as_roughly_as_people_do(seconds: int, words: str) -> None:
    assert ago(BEGAN - timedelta(seconds=seconds), BEGAN) == words
    assert moment(BEGAN) == "04 May 2026, 12:00:00 UTC"


def test_text_that_hides_itself_is_made_visible() -> None:
    assert shown("a\u202eb\nc") == "a\\u202eb\\nc"
    assert shown_lines("a\u202eb\nc") == "a\\u202eb\nc"
    assert shown({"a": [1]}) == '{"a":[1]}'


TRACE = [
    (
        {
            "type": "model_call",
            "step_id": "a",
            "iteration": 2,
            "model": "m",
            "total_tokens": 10,
            "cost_usd": None,
            "duration_ms": 5.0,
            "content": "hello",
            "tool_calls": [{"name": "look", "arguments": '{"x": 1}'}],
        },
        "a · turn 2: the model",
        "m · 10 tokens · cost not known · 5 ms",
        [("", "hello"), ("asks for look", '{"x": 1}')],
    ),
    (
        {
            "type": "tool_call",
            "step_id": "a",
            "iteration": 2,
            "tool": "look",
            "signal": "error",
            "duration_ms": 5.0,
            "arguments": {"x": 1},
            "content": "no",
            "truncated": True,
            "error_type": "http",
            "error_message": "refused",
        },
        "a · turn 2: look → error",
        "5 ms · cut to what the agent may be told",
        [("with", '{\n  "x": 1\n}'), ("answers", "no"), ("failed", "refused")],
    ),
    (
        {
            "type": "intervention",
            "step_id": None,
            "iteration": None,
            "action": "abort",
            "source": "operator",
            "by": "ada",
            "message": "why",
        },
        "Aborted by operator ada",
        "the run",
        [("", "why")],
    ),
    (
        {"type": "unfinished_reply", "step_id": "a", "iteration": 1, "state": "open", "content": "half"},
        "a · turn 1: a reply that was never completed",
        "cut off",
        [("", "half")],
    ),
    (
        {
            "type": "judge_call",
            "step_id": "a",
            "iteration": 1,
            "artifact": "tone",
            "site": "output",
            "verdict": "violation",
            "model": "j",
        },
        "a · turn 1: judge of tone (output) → violation",
        "j · cost not known",
        [],
    ),
    (
        {
            "type": "summary_call",
            "step_id": "a",
            "iteration": 1,
            "model": "j",
            "total_tokens": 1,
            "cost_usd": 0.5,
            "duration_ms": 1.0,
        },
        "a · turn 1: summary call",
        "j · 1 token · $0.5000 · 1 ms",
        [],
    ),
]


@pytest.mark.parametrize(("entry", "heading", "under", "passages"), TRACE, ids=[str(each[0]["type"]) for each in TRACE])
def test_an_entry_of_the_transcript_says_who_said_what(entry: dict, heading: str, under: str, passages: list) -> None:
    made = talk_entry(entry)
    assert (made.heading, made.under) == (heading, under)
    assert [(each.label, each.text) for each in made.passages] == passages


def test_time_in_which_nobody_had_a_run_is_none_that_it_took() -> None:
    row = {"run_id": "r", "status": "completed", "duration_ms": 1500.0}
    row |= {"started_at": "2026-05-04T12:00:00+00:00", "finished_at": "2026-05-04T13:00:00+00:00"}
    line = run_line(row, paused=False, live=False, now=datetime(2026, 5, 4, 14, 0, tzinfo=UTC))
    assert line.took == "1.5 s"
