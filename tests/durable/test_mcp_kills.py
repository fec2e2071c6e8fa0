"""Killed amid calls of MCP servers, and of tools whose results a judge looks at: done once, or a person is asked."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.durable.durable_project import counting
from tests.durable.test_crash_matrix import run_of
from tests.durable.test_kills import begun, calls, http, project
from tests.mcp.mcp_support import ODD

STEPS = """\
  steps:
    - id: say
      kind: MCP
      mcp: { server: "artifact://odd", tool: echo, arguments: { text: step } }
      response: { output_key: said }
    - id: agent
      kind: Agent
      mode: autonomous
      description: Do.
      agent:
        model: m
        steering: Do it.
        tools: [{ ref: told, parameters: { type: object, properties: {} } }]
      routes: { default: END }
    - id: told
      kind: MCP
      description: Tell.
      mcp: { server: "artifact://odd", tool: echo, arguments: { text: tool } }
      response: { output_key: told }
"""


def made(folder: Path) -> Path:
    log = folder / "calls.log"
    server = {"type": "mcp", "transport": "stdio", "command": sys.executable, "args": [str(ODD), f"log={log}"]}
    artifact = {"kind": "Artifact", "metadata": {"name": "odd", "version": 1}, "spec": server}
    files = {"artifacts/odd.yaml": json.dumps(artifact)}
    project(folder, STEPS, [calls(("c1", "told")), {"text": "done"}], **files)
    return log


def called(log: Path) -> list[str]:
    messages = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [each["params"]["arguments"]["text"] for each in messages if each.get("method") == "tools/call"]


POINTS = [
    ("after say#1/end!1", [], True),
    ("before agent#1/tool.told.c1#1/end", ["step", "tool"], True),
    ("after agent#1/tool.told.c1#1/end", ["step", "tool"], False),
]
"""Where the process dies, what was called before, and whether a person is asked."""
if os.environ.get("TUVL_SOAK"):
    POINTS += [
        ("before say#1/end!1", [], False),
        ("before say#1/end", ["step"], True),
        ("after say#1/end", ["step"], False),
        ("before agent#1/end", ["step", "tool"], False),
    ]


@pytest.mark.parametrize(("point", "before", "unknown"), POINTS)
def test_a_call_of_an_mcp_server_is_made_once_or_a_person_is_asked(point, before, unknown, tmp_path, run):
    log = made(tmp_path)
    begun(tmp_path, run, 0, point)
    assert (called(log) if log.exists() else []) == before
    resumed = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    if unknown:
        assert resumed.code == 3, resumed.err
        assert called(log) == before if log.exists() else not before, "nothing is called while a person is asked"
        words = ("--outcome", "retry") if "!1" in point else ("--outcome", "done")
        resumed = run.tuvl("resume", run_of(tmp_path), *words, cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    assert called(log) == ["step", "tool"]


JUDGED = """\
  steps:
    - id: agent
      kind: Agent
      mode: autonomous
      description: Do.
      agent:
        model: m
        steering: Do it.
        tools: [{ ref: look, parameters: { type: object, properties: {} } }]
        guardrails: { tools: ["artifact://fair@1"] }
      routes: { default: END }
"""

FAIR = """\
kind: Artifact
metadata: { name: fair, version: 1 }
spec: { type: guardrail, checks: [{ check: llm_judge, model: judge, criteria: It is fair. }] }
"""

JUDGE = """\
kind: AgentModel
metadata: { name: judge }
spec: { provider: scripted, replies: [{ when: { role: user }, text: '{"pass": true}' }] }
"""


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_run_whose_judge_looked_at_results_of_tools_is_gone_through_without_a_call(method, tmp_path, run):
    files = {"artifacts/fair.yaml": FAIR, "llms/judge.yaml": JUDGE}
    replies = [calls(("c1", "look")), calls(("c2", "look")), {"text": "done"}]
    project(tmp_path, JUDGED + http("look", "look", method=method), replies, **files)
    with counting() as (port, counted):
        done = begun(tmp_path, run, port)
        assert done.code == 0, done.err
        assert done.document["usage"]["llm_calls"] == 5
        for words in ((), ("--against", "w")):
            replayed = run.tuvl("replay", run_of(tmp_path), *words, cwd=tmp_path)
            assert replayed.document["divergence"] is None
        assert counted.counts["/look"] == 2


@pytest.mark.parametrize("point", ["before agent#1/tool.look.c2#1/end", "before agent#1/turn.m#3"])
def test_what_a_judge_said_of_a_result_is_part_of_the_call_and_counted_with_it(point, tmp_path, run):
    files = {"artifacts/fair.yaml": FAIR, "llms/judge.yaml": JUDGE}
    replies = [calls(("c1", "look")), calls(("c2", "look")), {"text": "done"}]
    project(tmp_path, JUDGED + http("look", "look", method="GET"), replies, **files)
    with counting() as (port, _):
        begun(tmp_path, run, port, point)
        done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.document["usage"]["llm_calls"] == 5
