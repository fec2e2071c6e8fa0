"""Whatever the routes of a workflow: what `--generate` writes validates, passes, and takes the exit it is named for."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.cli.cli_support import write
from tuvl.check.runner import check_paths
from tuvl.project.index import ProjectIndex
from tuvl.scenarios.coverage import coverage_of
from tuvl.scenarios.generate import generate, scenario_name
from tuvl.scenarios.run import run_scenarios
from tuvl.scenarios.scenario import find_scenarios

AGENT_EXITS = ("yes", "no", "timeout", "parse_error", "error", "aborted")


@st.composite
def workflows(draw: st.DrawFn) -> dict[str, object]:
    """Make a workflow of agents and plain steps whose routes lead anywhere."""
    ids = [f"s{number}" for number in range(draw(st.integers(1, 5)))]
    targets = st.sampled_from([*ids, "END", "END"])
    steps: list[dict[str, object]] = []
    for step in ids:
        if draw(st.booleans()):
            routes = {signal: draw(targets) for signal in AGENT_EXITS}
            agent = {"model": "x/y", "prompt": "Decide.", "outcome": {"enum": ["yes", "no"], "write": "answer"}}
            steps.append({"id": step, "kind": "Agent", "mode": "completion", "agent": agent, "routes": routes})
        else:
            routes = {"default": draw(targets)}
            steps.append({"id": step, "kind": "Functional", "runner": "set", "values": {step: 1}, "routes": routes})
    return {"kind": "Workflow", "metadata": {"name": "w"}, "spec": {"steps": steps, "limits": {"max_steps": 50}}}


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(workflow=workflows())
def test_generated_scenarios_pass_and_take_their_exit(workflow: dict[str, object]) -> None:
    with TemporaryDirectory() as made:
        folder = Path(made)
        config = "kind: ProjectConfig\nmetadata: { name: p }\nspec: {}\n"
        write(folder, {"tuvl.yaml": config, "workflows/w.yaml": json.dumps(workflow)})
        assume(not check_paths([folder]).errors)
        project = ProjectIndex(folder)
        found = find_scenarios(project, [])
        written = generate(project, found, coverage_of(project, found.workflows, []), environ={})
        assert {each.why_not for each in written} <= {
            None,
            "no way from the first step to it",
            "no way leads to an end",
        }
        fresh = ProjectIndex(folder)
        after = find_scenarios(fresh, [])
        assert len(after.scenarios) == sum(each.file is not None for each in written)
        assert check_paths([folder]).errors == 0
        outcomes = run_scenarios(fresh, after.scenarios, environ={})
        assert {outcome.verdict for outcome in outcomes} <= {"passed"}
        (coverage,) = coverage_of(fresh, after.workflows, outcomes)
        left = {(route.step, route.signal) for route in coverage.uncovered_exits}
        assert left <= {(each.exit.step, each.exit.signal) for each in written if each.file is None}


def test_scenario_of_a_workflow_with_a_long_name_is_written_under_a_name_that_a_file_takes(tmp_path: Path) -> None:
    agent = {"model": "x/y", "prompt": "Decide.", "outcome": {"enum": ["yes", "no"], "write": "answer"}}
    routes = dict.fromkeys(AGENT_EXITS, "END")
    step = {"id": "decide", "kind": "Agent", "mode": "completion", "agent": agent, "routes": routes}
    long = "a" * 250
    workflow = {"kind": "Workflow", "metadata": {"name": long}, "spec": {"steps": [step]}}
    config = "kind: ProjectConfig\nmetadata: { name: p }\nspec: {}\n"
    write(tmp_path, {"tuvl.yaml": config, "workflows/w.yaml": json.dumps(workflow)})
    project = ProjectIndex(tmp_path)
    found = find_scenarios(project, [])
    written = generate(project, found, coverage_of(project, found.workflows, []), environ={})
    files = [each.file for each in written]
    assert len(set(files)) == len(routes)
    again = [scenario_name(long, each.exit) for each in written]
    assert [Path(str(file)).stem for file in files] == again
    assert max(map(len, again)) <= 120
    assert scenario_name("short", written[0].exit) == f"short-decide-{written[0].exit.signal}"
