"""What is logged, where it shows, and in which form."""

import io
import json
import logging
from datetime import UTC, datetime

import pytest

from tests.cli.cli_support import environment, project, result, tuvl, write
from tests.telemetry.collector import collecting
from tuvl import redaction
from tuvl.cli.live import LiveStatus
from tuvl.cli.observing import observing
from tuvl.errors import ConfigError
from tuvl.events.types import AgentEnded, Event, TextDelta
from tuvl.settings import Settings, load_settings
from tuvl.telemetry.log_format import structured_formatter
from tuvl.telemetry.log_sink import LogSink, exit_name
from tuvl.telemetry.logs import LineHandler, PlainFormatter, plain_logs, printable, structured_logs

NOTE = """\
kind: Workflow
metadata: { name: note, description: Log on several levels. }
spec:
  steps:
    - { id: quiet, kind: Functional, runner: log, level: debug, message: not for people }
    - { id: hello, kind: Functional, runner: log, level: info, message: "Order {{ order }} is held" }
    - { id: careful, kind: Functional, runner: log, level: warning, message: Stock is low }
    - id: agent
      kind: Agent
      mode: autonomous
      agent:
        model: looker
        steering: Look first.
        tools: [{ ref: look, description: Look. }]
        max_iterations: 1
        outcome: { write: said }
      routes: { default: END, error: END, aborted: END, max_iterations: END, budget_exceeded: END,
                guardrail_violation: END }
    - { id: look, kind: Functional, runner: set, values: { found: 1 } }
---
kind: AgentModel
metadata: { name: looker }
spec:
  provider: scripted
  replies: [{ tool_calls: [{ name: look, id: c1 }], usage: { input_tokens: 5, output_tokens: 2 } }]
"""


@pytest.fixture
def folder(tmp_path):
    return write(project(tmp_path), {"workflows/note.yaml": NOTE})


def run(folder, *words, **environ):
    return tuvl("run", "note", "--set", "order=7", *words, cwd=folder, environ=environment(**environ))


def test_what_log_steps_say_is_seen_from_info_on(folder):
    lines = run(folder).stderr.splitlines()
    assert "tuvl: hello: Order 7 is held" in lines
    assert "tuvl: careful: warning: Stock is low" in lines
    assert not [line for line in lines if "not for people" in line]


@pytest.mark.parametrize("events", ["jsonl", "none"])
def test_where_no_person_looks_only_warnings_of_log_steps_are_left(folder, events):
    lines = run(folder, "--events", events).stderr.splitlines()
    assert [line for line in lines if not line.startswith("{")] == ["careful: warning: Stock is low"]


def test_json_logs_have_one_object_a_line_with_run_step_and_turn(folder):
    done = run(folder, "--events", "none", TUVL_LOG_FORMAT="json")
    logged = [json.loads(line) for line in done.stderr.splitlines()]
    run_id = result(done)["run_id"]
    assert {entry["run_id"] for entry in logged} == {run_id}
    assert {"timestamp", "level", "logger", "event"} <= set.intersection(*(set(entry) for entry in logged))
    by_event = {entry["event"]: entry for entry in logged}
    turn, called = by_event["agent.turn"], by_event["agent.tool_call"]
    assert (turn["step_id"], turn["iteration"], turn["tool_calls"], turn["tokens_used"]) == ("agent", 1, 1, 7)
    assert (called["tool"], called["call_id"], called["signal"]) == ("look", "c1", "default")
    ended = by_event["agent.max_iterations"]
    assert (ended["level"], ended["iteration"], ended["error_type"]) == ("warning", 1, "max_iterations")
    assert by_event["Order 7 is held"]["logger"] == "tuvl.workflow"
    assert [entry["event"] for entry in logged if entry["event"].startswith("run.")] == ["run.started", "run.finished"]


def test_text_logs_begin_at_the_level_that_was_asked_for(folder):
    done = run(folder, "--events", "none", TUVL_LOG_LEVEL="warning")
    events = [line.split("event=")[1] for line in done.stderr.splitlines()]
    assert [event.split(" run_id=")[0] for event in events] == [
        '"Stock is low"',
        "agent.max_iterations",
        "step.finished",
    ]


def test_debug_shows_what_the_author_wrote_for_debugging(folder):
    done = run(folder, "--events", "none", TUVL_LOG_LEVEL="DEBUG")
    assert 'level=debug logger=tuvl.workflow event="not for people"' in done.stderr


def test_logs_name_the_trace_and_span_they_belong_to(folder):
    with collecting() as collector:
        done = run(folder, "--events", "none", TUVL_LOG_FORMAT="json", OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint)
    by_event = {entry["event"]: entry for entry in map(json.loads, done.stderr.splitlines())}
    spans = {span.span_id.hex(): span for span in collector.spans}
    assert spans[by_event["agent.turn"]["span_id"]].name == "agent.iteration"
    assert spans[by_event["Order 7 is held"]["span_id"]].name == "node.Functional"
    assert {entry["trace_id"] for entry in by_event.values()} == {span.trace_id.hex() for span in spans.values()}


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("TUVL_LOG_FORMAT", "xml", "TUVL_LOG_FORMAT='xml' is not one of text, json"),
        ("TUVL_LOG_LEVEL", "loud", "TUVL_LOG_LEVEL='loud' is not one of debug, info, warning, error"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "OTEL_EXPORTER_OTLP_ENDPOINT is not an http(s) URL"),
    ],
)
def test_a_bad_setting_is_named_with_what_it_may_be(name, value, told):
    with pytest.raises(ConfigError, match="^" + told.replace("(", r"\(").replace(")", r"\)")):
        load_settings({name: value})


def test_settings_that_are_not_set_are_off():
    settings = load_settings({"TUVL_LOG_FORMAT": " ", "OTEL_EXPORTER_OTLP_ENDPOINT": ""})
    assert (settings.log_format, settings.log_level, settings.otlp_endpoint) == (None, None, None)


def event(body) -> Event:
    return Event(run_id="r", seq=1, at=datetime(2030, 1, 1, tzinfo=UTC), step_id="agent", body=body)


@pytest.mark.parametrize(
    ("signal", "error_type", "name"),
    [
        ("max_iterations", "max_iterations", "agent.max_iterations"),
        ("budget_exceeded", "budget_exceeded", "agent.budget_exceeded"),
        ("aborted", "aborted", "agent.aborted"),
        ("guardrail_violation", "guardrail_violation", "agent.guardrail_violation"),
        ("error", "rate_limited", "agent.llm_error"),
        ("error", "tool_timeout", "agent.tool_timeout"),
        ("error", "invalid_outcome", "agent.invalid_outcome"),
        ("error", "parse_error", "agent.invalid_outcome"),
        ("error", "repeated_calls", "agent.error"),
    ],
)
def test_an_abnormal_end_is_logged_by_its_name(signal, error_type, name):
    assert exit_name(AgentEnded(iteration=1, signal=signal, error_type=error_type)) == name


def test_what_an_agent_says_is_not_logged(caplog):
    with caplog.at_level(logging.DEBUG):
        LogSink().accept(event(TextDelta(iteration=1, text="private")))
    assert caplog.records == []


@pytest.fixture
def secret():
    value = 's3cret "quoted\\value'
    redaction.register_secret(value)
    yield value
    redaction._secrets.discard(value)


@pytest.mark.parametrize("form", ["plain", "text", "json"])
def test_no_secret_gets_past_a_log_whatever_its_form(secret, form):
    lines = []

    def write(line, level):
        lines.append(line)

    logs = (
        plain_logs(write, workflow_level="info")
        if form == "plain"
        else structured_logs(write, format=form, level="debug")
    )
    with logs:
        log = logging.getLogger("tuvl.test")
        log.warning("message %s", secret, extra={"key": secret, "nested": {"deep": [secret]}})
        try:
            raise RuntimeError(f"raised with {secret}")
        except RuntimeError:
            log.exception("failed")
        logging.getLogger("some.library").warning("library %s", secret)
    text = "\n".join(lines)
    assert text.count("***") == (3 if form == "plain" else 5)
    assert "s3cret" not in text


def test_a_record_that_cannot_be_written_loses_its_arguments_and_nothing_else(secret):
    lines = []

    class Breaks:
        def __str__(self):
            raise RuntimeError(secret)

    handler = LineHandler(lambda line, level: lines.append(line), PlainFormatter())
    for message, args in (("%s", (Breaks(),)), ("goes on", ())):
        handler.handle(logging.LogRecord("tuvl.test", logging.WARNING, __file__, 1, message, args, None))
    assert lines == ["a log record of 'tuvl.test' could not be written (RuntimeError)", "warning: goes on"]


def test_below_a_warning_only_our_own_records_are_written():
    lines = []
    with structured_logs(lambda line, level: lines.append(line), format="json", level="debug"):
        logging.getLogger("httpx").info("GET https://api.example/?api_key=1")
        logging.getLogger("httpcore").debug("headers")
        logging.getLogger("tuvl.test").debug("ours")
    assert [json.loads(line)["event"] for line in lines] == ["ours"]


def test_logging_is_as_it_was_when_the_run_is_over():
    root, ours = logging.getLogger(), logging.getLogger("tuvl")
    before = (list(root.handlers), root.level, ours.level, logging.getLogger("tuvl.workflow").level)
    with plain_logs(lambda line, level: None, workflow_level="info"):
        pass
    with structured_logs(lambda line, level: None, format="text", level="debug"):
        pass
    assert (list(root.handlers), root.level, ours.level, logging.getLogger("tuvl.workflow").level) == before


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é →", "plain é →"),
        ("one\ntuvl: completed", "one\n    tuvl: completed"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("a\tb\x7f", "a    b\\x7f"),
        ("odd\u2028line\r\nend", "odd\n    line\n    end"),
    ],
)
def test_a_message_cannot_move_the_cursor_or_forge_a_line(text, shown):
    assert printable(text) == shown


def test_a_record_in_text_is_one_line_and_in_json_one_object():
    record = logging.LogRecord("tuvl.test", logging.INFO, __file__, 1, "one\ntwo\x1b\x7f", None, None)
    record.__dict__["odd key"] = 1
    assert "\n" not in structured_formatter("text").format(record)
    assert json.loads(structured_formatter("json").format(record))["event"] == "one\ntwo\x1b\x7f"


class Terminal(io.StringIO):
    encoding = "utf-8"


def test_a_log_line_stands_above_the_status_line_and_leaves_nothing_of_it():
    stream = Terminal()
    view = LiveStatus(stream, colour=False, columns=40)
    view.tick()
    with observing(Settings(), {}, view, pretty=True):
        logging.getLogger("tuvl.workflow").info("first\nsecond", extra={"step_id": "note"})
    painted, _, printed = stream.getvalue().rpartition("\r")
    assert painted.startswith("\r› ")
    assert printed == "› note: first\x1b[K\n    second\x1b[K\n"
