"""The helpers that people who build on tuvl test with."""

import asyncio

import pytest

from tests.engine.run_support import Project
from tests.plan.test_compile_workflow import agent
from tuvl.errors import ConfigError, UsageError
from tuvl.testing.clock import START, ManualClock
from tuvl.testing.model import ScriptedModel, calls, reply
from tuvl.testing.run import run_workflow


async def test_a_workflow_file_runs_with_the_models_that_the_test_gives(tmp_path):
    project = Project(tmp_path, agent(model="nobody"))
    model = ScriptedModel([calls("tool"), reply("done")])
    result = await run_workflow(project.root / "workflows" / "flow.yaml", {"n": 1}, models={"nobody": model})
    assert (result.status, result.context) == ("completed", {"n": 1, "agent_result": "done"})
    assert result.trace


async def test_a_model_that_the_test_does_not_give_is_the_projects_own(tmp_path):
    project = Project(tmp_path, agent()).model("from the preset")
    result = await run_workflow(project.root / "workflows" / "flow.yaml", models={"other": ScriptedModel([])})
    assert result.context["agent_result"] == "from the preset"


async def test_a_file_without_a_workflow_or_with_a_mistake_is_refused(tmp_path):
    project = Project(tmp_path, "- { id: a, kind: Functional, runner: nope }").model()
    with pytest.raises(UsageError, match="holds no `kind: Workflow`"):
        await run_workflow(project.root / "llms" / "default.yaml")
    with pytest.raises(ConfigError, match="runner 'nope'"):
        await run_workflow(project.root / "workflows" / "flow.yaml")


async def test_the_manual_clock_wakes_sleepers_in_the_order_of_their_times():
    clock, woken = ManualClock(), []

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((seconds, clock.monotonic()))

    tasks = [asyncio.create_task(sleep(seconds)) for seconds in (3, 1, 2)]
    await clock.until_someone_sleeps()
    await clock.advance(0.5)
    assert woken == []
    await clock.advance(2)
    assert woken == [(1, 1), (2, 2)]
    await clock.advance(10)
    await asyncio.gather(*tasks)
    assert woken == [(1, 1), (2, 2), (3, 3)]
    assert (clock.now() - START).total_seconds() == 12.5
