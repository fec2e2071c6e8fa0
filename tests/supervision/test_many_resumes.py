"""N08 ctl.resume_race: a run that many resume at once goes on once, and many runs that pause all go on."""

import asyncio

from tests.engine.run_support import Project
from tests.supervision.test_registry import info, registries
from tuvl.control import RunControl
from tuvl.supervision.runs import Directive

RESUMES = 20
RUNS = 200


async def test_of_twenty_resumes_at_once_one_is_what_ends_the_pause_and_none_fails(database, tmp_path):
    async with registries(database, tmp_path, count=3) as (mine, one, other):
        control = RunControl()
        with mine.register("r1", control, info()):
            await mine.look()
            control.pause()
            going_on = asyncio.create_task(control.checkpoint())
            said = [Directive(kind="resume", by=f"p{number}") for number in range(RESUMES)]
            tellers = (mine, one, other)
            told = await asyncio.gather(
                *(tellers[number % 3].direct("r1", directive) for number, directive in enumerate(said))
            )
            assert all(told)
            await mine.look()
            async with asyncio.timeout(30):
                assert await going_on == []
            found = [await one.settled(directive.id) for directive in said]
            assert [each.outcome for each in found] == ["applied"] * RESUMES
            assert [each.note for each in found].count(None) == 1
            assert {each.note for each in found} == {None, "the run was not paused"}
            assert (control.paused, control.aborted) == (False, False)


async def test_two_hundred_runs_that_are_paused_and_resumed_all_complete(tmp_path):
    steps = "\n".join(f"- {{ id: s{n}, kind: Functional, runner: set, values: {{ k{n}: {n} }} }}" for n in range(3))
    project = Project(tmp_path, steps)
    plan, engine = project.plan(), project.engine()
    controls = [RunControl() for _ in range(RUNS)]
    for control in controls:
        control.pause()
    try:
        runs = [asyncio.create_task(engine.run(plan, {}, control=control)) for control in controls]
        for control in controls:
            await asyncio.gather(*(_resume(control) for _ in range(3)))
        async with asyncio.timeout(60):
            results = await asyncio.gather(*runs)
    finally:
        await engine.aclose()
    assert [result.status for result in results] == ["completed"] * RUNS
    assert all([step.id for step in result.steps] == ["s0", "s1", "s2"] for result in results)


async def _resume(control: RunControl) -> None:
    await asyncio.sleep(0)
    control.resume()
