"""The command line and a collector: what is delivered, and what one costs that is not there."""

import json
import re
import subprocess
import threading
import time

import pytest
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.trace import NoOpTracerProvider

from tests.cli.cli_support import command, environment, project, result, tuvl, write
from tests.telemetry.collector import black_hole, closed_port, collecting
from tuvl.telemetry.setup import Telemetry, shown

LIMIT_S = 8.0
"""The promise is 2 seconds, and exporters give up after 10; the rest is for a machine that has other things to do."""

AGENT = """\
kind: Workflow
metadata: { name: ask_twice, description: Ask a model that looks something up. }
spec:
  steps:
    - id: answer
      kind: Agent
      mode: autonomous
      agent:
        model: looker
        steering: Look first.
        tools: [{ ref: look, description: Look. }]
        max_iterations: 3
        outcome: { write: said }
      routes: { default: END, error: END, aborted: END, max_iterations: END, budget_exceeded: END,
                guardrail_violation: END }
    - { id: look, kind: Functional, runner: set, values: { found: 1 } }
---
kind: AgentModel
metadata: { name: looker }
spec:
  provider: scripted
  replies: [{ tool_calls: [{ name: look }] }, { text: found it }]
"""


@pytest.fixture
def folder(tmp_path):
    return write(project(tmp_path), {"workflows/ask_twice.yaml": AGENT})


def test_one_variable_delivers_spans_and_counters(folder):
    with collecting() as collector:
        done = tuvl("run", "ask_twice", cwd=folder, environ=environment(OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint))
    assert done.returncode == 0, done.stderr
    assert sorted(span.name for span in collector.spans) == sorted(
        ["workflow.execute", "node.Agent", "node.Functional", "agent.tool_call"]
        + ["agent.iteration", "chat looker"] * 2
    )
    assert {"tuvl.agent.iterations", "tuvl.agent.tool_calls", "tuvl.runs.active"} <= collector.counters
    assert collector.services == {"tuvl"}
    assert "telemetry" not in done.stderr


def test_a_service_may_have_a_name_of_its_own_and_signals_may_be_off(folder):
    with collecting() as collector:
        environ = environment(
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint, OTEL_SERVICE_NAME="desk", OTEL_METRICS_EXPORTER="none"
        )
        tuvl("run", "greet", "--set", "name=Ada", cwd=folder, environ=environ)
    assert collector.services == {"desk"}
    assert list(collector.bodies) == ["/v1/traces"]


@pytest.mark.parametrize("environ", [{}, {"OTEL_SDK_DISABLED": "true"}], ids=["no endpoint", "disabled"])
def test_nothing_is_recorded_that_nobody_asked_for(folder, environ):
    with collecting() as collector:
        if environ:
            environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, **environ}
        done = tuvl("run", "greet", "--set", "name=Ada", cwd=folder, environ=environment(**environ))
    assert done.returncode == 0
    assert collector.bodies == {}


@pytest.mark.parametrize("place", [closed_port, black_hole])
def test_a_collector_that_is_not_there_delays_no_step_and_hardly_the_exit(folder, place):
    """P03 otel.exporter_block: a closed port and a black hole; one line, and a bounded exit."""
    with place() as endpoint:
        running = subprocess.Popen(
            command("run", "ask_twice", "--events", "jsonl"),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(OTEL_EXPORTER_OTLP_ENDPOINT=endpoint),
        )
        document = b""
        while not document.endswith(b"\n}\n"):  # the result is there before anything waits for the collector
            document += running.stdout.readline()
        delivered = time.monotonic()
        _, errors = running.communicate(timeout=60)
        exit_s = time.monotonic() - delivered
    assert running.returncode == 0
    assert exit_s < LIMIT_S
    assert json.loads(document)["duration_ms"] < LIMIT_S * 1000
    assert all(json.loads(line) for line in errors.decode().splitlines())


@pytest.mark.parametrize("place", [closed_port, black_hole])
def test_a_collector_that_is_not_there_is_one_line(folder, place):
    with place() as endpoint:
        environ = environment(OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)
        done = tuvl("run", "greet", "--set", "name=Ada", cwd=folder, environ=environ)
    assert result(done)["output"] == "Hello Ada"
    lines = [line for line in done.stderr.splitlines() if not re.match(r"tuvl: (compose|completed)", line)]
    assert lines == [f"tuvl: telemetry could not be delivered to {endpoint}; the run is not affected"]


def test_keys_of_a_collector_are_sent_to_it_and_shown_nowhere(folder):
    with collecting() as collector:
        environ = environment(
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint, OTEL_EXPORTER_OTLP_HEADERS="x-key=collector-key-77"
        )
        tuvl("run", "greet", "--set", "name=Ada", cwd=folder, environ=environ)
    assert {headers["x-key"] for headers in collector.headers} == {"collector-key-77"}
    with closed_port() as endpoint:
        environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint.replace("//", "//me:collector-key-77@")
        done = tuvl("run", "greet", "--set", "name=Ada", cwd=folder, environ=environ)
    assert f"delivered to {endpoint};" in done.stderr
    assert "collector-key-77" not in done.stderr + done.stdout


def test_an_endpoint_that_is_no_url_is_refused_without_showing_it(folder):
    environ = environment(OTEL_EXPORTER_OTLP_ENDPOINT="me:password-77@collector:4318")
    done = tuvl("run", "greet", "--set", "name=Ada", cwd=folder, environ=environ)
    assert done.returncode == 2
    assert "OTEL_EXPORTER_OTLP_ENDPOINT is not an http(s) URL; unset it or set e.g." in done.stderr
    assert "password-77" not in done.stderr


WITHOUT_SDK = """
import sys
sys.modules["opentelemetry"] = None
from tuvl.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def test_without_its_packages_telemetry_is_off_and_says_how_to_get_them(folder):
    done = subprocess.run(
        [command()[0], "-c", WITHOUT_SDK, "run", "greet", "--set", "name=Ada"],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        env=environment(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4318"),
        timeout=60,
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["output"] == "Hello Ada"
    assert "tuvl: telemetry is off, although OTEL_EXPORTER_OTLP_ENDPOINT is set: " in done.stderr
    assert "install 'tuvl[otel]'" in done.stderr


def telemetry(*ends):
    return Telemetry(NoOpTracerProvider(), NoOpMeterProvider(), shutdowns=ends)


def test_closing_waits_for_what_is_delivered_and_not_for_what_hangs():
    def broken():
        raise RuntimeError("exporter")

    delivered = threading.Event()
    assert telemetry(delivered.set, broken).close() is True
    assert delivered.is_set()
    assert telemetry(threading.Event().wait).close(0.05) is False


@pytest.mark.parametrize(
    ("endpoint", "text"),
    [
        ("https://user:pass@otel.example:4318/v1?token=x", "https://otel.example:4318"),
        ("http://[::1]:4318/", "http://[::1]:4318"),
    ],
)
def test_an_endpoint_is_shown_by_its_host(endpoint, text):
    assert shown(endpoint) == text
