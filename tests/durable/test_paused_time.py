"""Time for which a run is paused while a process has it counts in the processes that have it later, too."""

import asyncio
import json
from typing import Any

import pytest

from tests.durable.test_record import Rows, value
from tests.engine.run_support import Project
from tests.supervision.supervised import look, say, supervised
from tuvl.control import Intervention, RunControl
from tuvl.durable.leaving import LeavingJournal
from tuvl.durable.record import DurableJournal
from tuvl.durable.run_time import paused_s
from tuvl.engine.telling import tell_by_record
from tuvl.journal import Left
from tuvl.testing.clock import ManualClock

PAUSE, RESUME = (Intervention(action=action, source="operator", by="ann") for action in ("pause", "resume"))
AFTER_ONE_CALL = {"when": "tool_repeated", "tool": "look", "count": 1, "then": "pause"}


class Process:
    """One that has a run, until it is killed or lets go of it."""

    def __init__(self, rows: Rows, *, pause_max_s: float = 300.0, leaving: bool = False) -> None:
        self.clock = ManualClock()
        self.control = RunControl(pause_max_s=pause_max_s, clock=self.clock)
        found = dict(rows.kept)
        self.journal = LeavingJournal(rows, found, leaving=lambda: leaving, clock=self.clock)
        self.control.leave = self.journal.leave
        tell_by_record(self.journal, self.control, hear=_nothing)

    async def told(self, said: Intervention, id: str) -> None:
        assert self.control.keep is not None
        await self.control.keep(id, said, "")
        self.control.intervene(said)

    def next_entry(self, name: str = "next#1") -> "asyncio.Task[Any]":
        """Come to something new."""
        return asyncio.ensure_future(self.journal.within(name).record("end", self._work))

    async def _work(self) -> Any:
        await self.control.park()
        self.control.raise_if_aborted()
        return 1

    async def paused_for(self, seconds: float, *, steps: int = 100) -> None:
        await settled(self.clock)
        for _ in range(steps):
            await self.clock.advance(seconds / steps)
            await settled(self.clock)


async def settled(clock: ManualClock) -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def kill(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def begun(rows: Rows) -> None:
    """Keep what a run did before it was paused."""
    await Process(rows).journal.within("first#1").record("end", lambda: value(1))


async def test_a_paused_run_that_process_after_process_is_killed_under_is_aborted_when_its_time_is_over():
    rows = Rows()
    await begun(rows)
    first = Process(rows, pause_max_s=6)
    await first.told(PAUSE, "d1")
    task = first.next_entry()
    await first.paused_for(4.5)
    await kill(task)
    second = Process(rows, pause_max_s=6)
    task = second.next_entry()
    await second.paused_for(1.9)
    assert not second.control.aborted, "of the first four seconds and a half, the last half was not kept"
    await second.paused_for(0.2)
    assert second.control.abort_reason == "paused for more than 6 s"
    await asyncio.gather(task, return_exceptions=True)


async def test_a_process_that_lets_go_of_a_paused_run_keeps_all_of_the_time_that_it_was_paused():
    rows = Rows()
    await begun(rows)
    first = Process(rows)
    await first.told(PAUSE, "d1")
    task = first.next_entry()
    await first.paused_for(5.5)
    first.control.let_go()
    with pytest.raises(Left):
        await asyncio.wait_for(task, 20)
    second = DurableJournal(rows, dict(rows.kept), clock=ManualClock(), again=True)
    assert (second.elapsed_s, second.paused_s) == (5.5, 5.5)


async def test_a_kill_loses_two_seconds_of_a_pause_or_a_tenth_of_it_and_a_long_one_leaves_few_entries():
    rows = Rows()
    first = Process(rows, pause_max_s=100_000)
    first.control.pause()
    task = asyncio.ensure_future(first.control.park())
    for seconds in (1, 1, 1, 1, 15, 81, 900, 9000, 76_400):
        await first.paused_for(seconds, steps=20)
        passed, known = first.clock.monotonic(), paused_s(rows.kept)
        assert passed - max(2.0, 0.1 * passed) <= known <= passed
    assert len(rows.kept) < 100
    await kill(task)


async def test_a_pause_that_somebody_has_ended_does_not_count_for_the_next_one():
    rows = Rows()
    await begun(rows)
    first = Process(rows, pause_max_s=6)
    await first.told(PAUSE, "d1")
    task = first.next_entry()
    await first.paused_for(5)
    await first.told(RESUME, "d2")
    await task
    await first.clock.advance(1)
    await first.told(PAUSE, "d3")
    task = first.next_entry("later#1")
    await first.paused_for(1)
    await kill(task)
    second = Process(rows, pause_max_s=6)
    task = second.next_entry("later#1")
    await second.paused_for(5)
    assert second.control.paused
    assert not second.control.aborted
    await kill(task)


async def test_entries_after_a_pause_go_on_from_its_time_in_every_process():
    rows = Rows()
    await begun(rows)
    first = Process(rows)
    await first.told(PAUSE, "d1")
    task = first.next_entry()
    await first.paused_for(4)
    await kill(task)
    second = Process(rows)
    assert await second.journal.within("first#1").record("end", lambda: value(2)) == 1
    task = second.next_entry()
    await second.paused_for(3)
    await second.told(RESUME, "d2")
    await task
    assert (rows.kept["next#1/end"]["t"], rows.kept["told.d2"]["t"]) == (7.0, 7.0)


async def test_a_run_that_ends_while_a_rule_holds_it_up_again_says_how_long_it_took_in_all(tmp_path):
    project = supervised(tmp_path, look("a"), say("done"), rules=[AFTER_ONE_CALL])
    rows = Rows()
    await paused_and_left(project, rows)
    second = Process(rows)
    run = asyncio.ensure_future(performed(project, second))
    await second.clock.until_someone_sleeps()
    second.control.abort("enough")
    result = await run
    assert (result.status, result.duration_ms) == ("aborted", PAUSED_S * 1000)


PAUSED_S = 8.0


async def paused_and_left(project: Project, rows: Rows) -> None:
    """Perform a run until it is paused, and let go of it some seconds later."""
    first = Process(rows)
    run = asyncio.ensure_future(performed(project, first))
    while not (first.control.paused or run.done()):
        await asyncio.sleep(0)
    if run.done():
        run.result()
    await first.clock.until_someone_sleeps()
    await first.clock.advance(PAUSED_S)
    first.control.let_go()
    assert (await run).status == "suspended"


async def performed(project: Project, process: Process) -> Any:
    engine = project.engine()
    try:
        return await engine.run(
            project.plan(), {}, control=process.control, journal=process.journal, run_id="r1", trace=True
        )
    finally:
        await engine.aclose()


@pytest.mark.parametrize(("bound", "status"), [(7, "failed"), (1000, "completed")])
async def test_time_paused_in_another_process_counts_for_the_time_that_a_run_may_take(tmp_path, bound, status):
    project = supervised(
        tmp_path, look("a"), say("done"), rules=[AFTER_ONE_CALL], spec={"limits": {"timeout_s": bound}}
    )
    rows = Rows()
    await paused_and_left(project, rows)
    result = await going_on(project, rows)
    assert result.status == status
    if status == "failed":
        assert (result.error.type, result.error.message) == ("timeout", "the run did not finish within 7 s")


@pytest.mark.parametrize(("bound", "signal"), [(7, "budget_exceeded"), (1000, "default")])
async def test_time_paused_in_another_process_counts_for_the_time_that_an_agent_may_take(tmp_path, bound, signal):
    project = supervised(tmp_path, look("a"), say("done"), rules=[AFTER_ONE_CALL], max_wall_clock_s=bound)
    rows = Rows()
    await paused_and_left(project, rows)
    assert (await going_on(project, rows)).signal == signal


@pytest.mark.parametrize(("bound", "signal"), [(7, "error"), (1000, "default")])
async def test_time_paused_in_another_process_counts_for_the_time_that_a_step_may_take(tmp_path, bound, signal):
    project = supervised(tmp_path, look("a"), say("done"), rules=[AFTER_ONE_CALL])
    flow = project.root / "workflows" / "flow.yaml"
    assert '"id": "agent"' in flow.read_text()
    flow.write_text(flow.read_text().replace('"id": "agent"', f'"id": "agent", "timeout_s": {bound}'))
    rows = Rows()
    await paused_and_left(project, rows)
    assert (await going_on(project, rows)).signal == signal


@pytest.mark.parametrize(("bound", "status"), [(7, "failed"), (1000, "completed")])
async def test_time_paused_in_another_process_counts_for_the_time_of_a_workflow_inside(tmp_path, bound, status):
    project = supervised(
        tmp_path, look("a"), say("done"), rules=[AFTER_ONE_CALL], spec={"limits": {"timeout_s": bound}}
    )
    flow = project.root / "workflows" / "flow.yaml"
    inner = flow.read_text().replace('"name": "flow"', '"name": "inner"')
    (project.root / "workflows" / "inner.yaml").write_text(inner)
    step = {"id": "inner", "kind": "Workflow", "workflow": "inner"}
    flow.write_text(json.dumps({"kind": "Workflow", "metadata": {"name": "flow"}, "spec": {"steps": [step]}}))
    rows = Rows()
    await paused_and_left(project, rows)
    assert (await going_on(project, rows)).status == status


async def going_on(project: Project, rows: Rows) -> Any:
    """Let another process go on with a run, and take its pause away there."""
    second = Process(rows)
    run = asyncio.ensure_future(performed(project, second))
    while not (second.control.paused or run.done()):
        await asyncio.sleep(0)
    await second.told(RESUME, "go on")
    return await run


async def _nothing() -> None:
    return None
