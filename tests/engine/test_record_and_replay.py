"""`record` and `replay` of a run, through the engine."""

from tests.engine.run_support import Project
from tests.plan.test_compile_workflow import agent
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine


async def run(project: Project, **options):
    engine = Engine(ProjectIndex(project.root), settings=project.settings, environ={}, **options)
    try:
        return await engine.run(project.plan(), {"n": 1})
    finally:
        await engine.aclose()


async def test_a_recorded_run_replays_without_its_models(tmp_path):
    project = Project(tmp_path, agent()).model({"tool_calls": [{"name": "tool"}]}, "done")
    recording = tmp_path / "run.yaml"
    first = await run(project, record=recording)
    project.model("something else")
    second = await run(project, replay=recording)
    assert first.context == second.context == {"n": 1, "agent_result": "done"}


async def test_a_replay_stops_at_the_first_request_that_differs(tmp_path):
    project = Project(tmp_path, agent()).model("done")
    recording = tmp_path / "run.yaml"
    await run(project, record=recording)
    project.workflow(agent(steering="Do something else."))
    result = await run(project, replay=recording)
    assert result.error is not None
    assert (result.error.type, result.signal) == ("replay_mismatch", "error")


async def test_a_recording_that_cannot_be_written_is_a_warning_and_the_result_is_kept(tmp_path):
    project = Project(tmp_path, agent()).model("done")
    result = await run(project, record=tmp_path / "no-such-folder" / "run.yaml")
    assert result.status == "completed"
    assert "cannot write the recording" in result.warnings[0]
