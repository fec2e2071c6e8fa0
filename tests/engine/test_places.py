"""Runs of one engine that are not durable keep to the limit of their workflow, too."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.run_support import Project
from tuvl.control import RunControl
from tuvl.engine.result import RunResult
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.settings import load_settings
from tuvl.testing.clock import ManualClock

Start = Callable[..., "asyncio.Task[RunResult]"]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def start(tmp_path: Path, clock: ManualClock) -> Start:
    """Start runs that take ten seconds each, one at a time."""
    Project(tmp_path, "- { id: hold, kind: Functional, runner: wait, seconds: 10 }", limits={"concurrency": 1})
    index = ProjectIndex(tmp_path)
    engine = Engine(index, settings=load_settings({}), environ={}, clock=clock)
    document = index.workflow("flow")
    assert document is not None
    plan = engine.plan(document)
    return lambda **options: asyncio.create_task(engine.run(plan, {}, **options))


async def test_runs_go_on_one_after_another_in_the_order_in_which_they_came(start: Start, clock: ManualClock) -> None:
    tasks, ended = [start() for _ in range(3)], []
    for number, task in enumerate(tasks):
        task.add_done_callback(lambda _, number=number: ended.append(number))
    for number, task in enumerate(tasks):
        await clock.until_someone_sleeps()
        assert len(clock.slept) == number + 1
        await clock.advance(10)
        await task
    assert ended == [0, 1, 2]
    assert all(task.result().status == "completed" for task in tasks)


async def test_a_run_is_aborted_while_it_waits_and_takes_no_place(start: Start, clock: ManualClock) -> None:
    control = RunControl()
    first, second, third = start(), start(control=control), start()
    await clock.until_someone_sleeps()
    control.abort("enough")
    assert (await second).status == "aborted"
    for task in (first, third):
        await clock.until_someone_sleeps()
        await clock.advance(10)
        assert (await task).status == "completed"
    assert clock.slept == [10, 10]


async def test_the_wait_is_part_of_the_time_of_a_run(start: Start, clock: ManualClock) -> None:
    first = start()
    await clock.until_someone_sleeps()
    second = await start(timeout_s=0.02)
    assert second.status == "failed"
    assert second.error is not None
    assert second.error.type == "timeout"
    await clock.advance(10)
    assert (await first).status == "completed"


async def test_whoever_stops_waiting_takes_no_place(start: Start, clock: ManualClock) -> None:
    first, second, third = start(), start(), start()
    await clock.until_someone_sleeps()
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    for task in (first, third):
        await clock.until_someone_sleeps()
        await clock.advance(10)
        assert (await task).status == "completed"
