"""Scenarios of a supervised workflow: its judge has replies like any model, and a pause ends at once."""

import json
from pathlib import Path

from tests.cli.cli_support import tuvl, write
from tests.supervision.test_runs_control_command import PROJECT

SCENARIO = """\
kind: WorkflowTest
metadata: { name: paused }
spec:
  workflow: flow
  expect: { status: aborted }
"""


def test_a_scenario_that_is_paused_waits_for_nobody(tmp_path: Path) -> None:
    write(tmp_path, {**PROJECT, "tests/paused.yaml": SCENARIO})
    done = tuvl("test", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["summary"]["passed"] == 1
    assert not (tmp_path / ".tuvl").exists()


def test_replies_of_the_supervisor_s_judge_are_those_of_the_scenario(tmp_path: Path) -> None:
    judge = "    judge: { model: critic, criteria: It gets on., on_violation: abort }\n  steps:"
    flow = PROJECT["workflows/flow.yaml"].replace("then: pause", "then: steer").replace("  steps:", judge, 1)
    replies = "  models: { critic: { replies: [{ json: { pass: false } }] } }\n  expect: { status: aborted }\n"
    scenario = SCENARIO.replace("  expect: { status: aborted }\n", replies)
    write(tmp_path, {**PROJECT, "workflows/flow.yaml": flow, "tests/paused.yaml": scenario})
    preset = "kind: AgentModel\nmetadata: { name: critic }\nspec: { provider: openai, model: none }\n"
    write(tmp_path, {"llms/critic.yaml": preset})
    done = tuvl("test", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
