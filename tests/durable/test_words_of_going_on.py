"""What `tuvl resume` says on stderr of a run that is paused, and of an answer that is not used."""

import re

import pytest

from tests.cli.cli_support import write
from tests.durable.test_going_on import IN_TIME, answer, asking
from tests.supervision.test_runs_control_command import PROJECT
from tuvl.durable.files import RunFiles

PAUSE = {"TUVL_AGENT_PAUSE_MAX_S": "9"}


def test_a_run_that_is_still_paused_says_so_where_it_goes_on_and_how_long_it_may_be(tmp_path, run):
    write(tmp_path, PROJECT)
    words = ("run", "workflows/flow.yaml", "--durable")
    killed = run.tuvl(*words, cwd=tmp_path, kill="after told.paused.*", environ=PAUSE)
    assert killed.code == -9, killed.err
    assert "after 9.0 s it is aborted" in killed.err
    (run_id,) = RunFiles(tmp_path).ids()
    going_on = run.tuvl("resume", run_id, cwd=tmp_path, environ=PAUSE)
    assert "paused by the supervisor's" in going_on.err
    found = re.search(
        rf"go on with `tuvl runs resume {run_id}`, stop with Ctrl-C; after (.*) s it is aborted", going_on.err
    )
    assert found is not None, going_on.err
    assert 0 < float(found[1]) < 8, "what it was held up before counts"
    assert going_on.document["signal"] == "aborted", going_on.err


LOOKS = """\
kind: Workflow
metadata: { name: looks }
spec:
  durable: true
  steps:
    - id: agent
      kind: Agent
      mode: autonomous
      agent: { model: m, steering: Go., tools: [{ ref: look, description: Looks. }], max_iterations: 2 }
      routes: { max_iterations: END, aborted: END }
    - { id: look, kind: Functional, runner: look }
"""
CALLS = """\
kind: AgentModel
metadata: { name: m }
spec:
  provider: scripted
  replies:
    - { tool_calls: [{ name: look, arguments: { q: a } }, { name: nowhere }] }
    - { tool_calls: [{ name: look, arguments: { q: b } }, { name: look, arguments: { q: c } }, { name: nowhere }] }
"""


@pytest.mark.parametrize("kill", [None, "before agent#1/end", "before agent#1/tool.look.*#1/end"])
def test_the_line_of_an_agent_counts_the_calls_that_its_run_counts_also_those_of_its_last_turn(kill, tmp_path, run):
    write(tmp_path, PROJECT | {"workflows/looks.yaml": LOOKS, "llms/m.yaml": CALLS})
    ended = run.tuvl("run", "workflows/looks.yaml", cwd=tmp_path, kill=kill)
    if kill is not None:
        assert ended.code == -9, ended.err
        (run_id,) = RunFiles(tmp_path).ids()
        ended = run.tuvl("resume", run_id, cwd=tmp_path)
    assert ended.document["usage"]["tool_calls"] == 5
    assert re.search("agent .Agent. (→|->) max_iterations( ·|,) 2 turns( ·|,) 5 tool calls", ended.err), ended.err


def test_an_answer_that_is_late_is_told_to_be_late(tmp_path, run):
    run_id = asking(tmp_path, run, IN_TIME)
    words = ("resume", run_id, "--answer", answer(tmp_path, verdict="yes_pay"), "--principal", "ann.json")
    late = run.tuvl(*words, cwd=tmp_path, later_s=7200)
    assert "the answer was not used: the time for an answer is over" in late.err
