"""Where a durable run waits for a person its events say so, at the step that has begun and not ended."""

import json

from tests.durable.test_kills import project

ASKS = """\
  steps:
    - { id: before, kind: Functional, runner: set, values: { found: 1 } }
    - id: sure
      kind: HumanInTheLoop
      ui: { title: "Sure?" }
      human_feedback: [{ name: verdict, type: text }]
"""


def test_a_run_that_waits_says_so_at_the_step_where_it_does(tmp_path, run):
    project(tmp_path, ASKS)
    waiting = run.tuvl("run", "w", "--set", "origin=1", "--events", "jsonl", cwd=tmp_path)
    assert waiting.code == 3, waiting.err
    events = [json.loads(line) for line in waiting.err.splitlines() if line.startswith("{")]
    told = [(event["type"], event.get("step_id")) for event in events if "type" in event]
    assert told[-3:] == [("step_started", "sure"), ("suspended", "sure"), ("run_finished", None)]
