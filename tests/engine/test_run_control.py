"""Abort, timeouts, pauses, and the promise that nothing outlives its run."""

import asyncio
import contextlib
import subprocess
import sys
import threading
import time

import pytest

from tests.engine.run_support import Project, Seen, ids
from tuvl import leftovers
from tuvl.control import RunControl
from tuvl.testing.clock import ManualClock

WAIT_THEN_CLEAN = """
- id: work
  kind: Functional
  runner: wait
  seconds: 3600
  routes: { default: after, aborted: clean }
- { id: after, kind: Functional, runner: set, values: { went: on }, routes: { default: END } }
- { id: clean, kind: Functional, runner: set, values: { cleaned: "{{ _last_error_type }}" } }
- { id: clean2, kind: Functional, runner: set, values: { cleaned_twice: true } }
"""


async def abort_when_it_waits(clock: ManualClock, control: RunControl, reason: str = "stop") -> None:
    async with asyncio.timeout(10):
        await clock.until_someone_sleeps()
    control.abort(reason)


async def test_an_abort_cancels_the_step_in_flight_and_its_cleanup_runs_once(tmp_path):
    """N11 wf.cleanup."""
    project, control = Project(tmp_path, WAIT_THEN_CLEAN), RunControl()
    project.clock = clock = ManualClock()
    run = asyncio.create_task(project.run(control=control))
    await abort_when_it_waits(clock, control, "operator said so")
    result = await run
    assert (result.status, result.exit_code) == ("aborted", 4)
    assert ids(result) == ["work", "clean", "clean2"]
    assert result.steps[0].signal == "aborted"
    assert result.context == {"cleaned": "aborted", "cleaned_twice": True}
    assert result.error is not None
    assert (result.error.type, result.error.message, result.error.step) == ("aborted", "operator said so", "work")
    assert result.warnings == ()


async def test_an_unrouted_abort_ends_cleanly_with_a_warning(tmp_path):
    project, control = Project(tmp_path, "- { id: work, kind: Functional, runner: wait, seconds: 60 }"), RunControl()
    project.clock = clock = ManualClock()
    run = asyncio.create_task(project.run(control=control))
    await abort_when_it_waits(clock, control)
    result = await run
    assert (result.status, result.signal) == ("aborted", "aborted")
    assert "'work' left on 'aborted'" in result.warnings[0]


async def test_an_abort_before_the_first_step_runs_nothing_but_its_cleanup(tmp_path):
    control = RunControl()
    control.abort("too late")
    result = await Project(tmp_path, WAIT_THEN_CLEAN).run(control=control)
    assert (result.status, ids(result)) == ("aborted", ["work", "clean", "clean2"])


async def test_a_second_abort_stops_the_cleanup(tmp_path):
    """N11 wf.cleanup."""
    project = Project(
        tmp_path,
        """
        - { id: work, kind: Functional, runner: wait, seconds: 3600, routes: { aborted: clean } }
        - { id: clean, kind: Functional, runner: wait, seconds: 3600, routes: { aborted: again } }
        - { id: again, kind: Functional, runner: set, values: { never: true } }
        """,
    )
    project.clock, control = ManualClock(), RunControl()
    run = asyncio.create_task(project.run(control=control))
    await abort_when_it_waits(project.clock, control)
    async with asyncio.timeout(10):
        while len(project.clock.slept) < 2:
            await asyncio.sleep(0)
    control.abort("again")
    result = await run
    assert (result.status, ids(result), result.context) == ("aborted", ["work", "clean"], {})


async def test_a_cleanup_that_hangs_is_cut_off_at_its_own_bound(tmp_path, monkeypatch):
    """N11 wf.cleanup."""
    monkeypatch.setattr("tuvl.engine.run.CLEANUP_S", 0.05)
    project = Project(
        tmp_path,
        """
        - { id: work, kind: Functional, runner: wait, seconds: 3600, routes: { aborted: clean } }
        - { id: clean, kind: Functional, runner: wait, seconds: 3600 }
        """,
    )
    project.clock, control = ManualClock(), RunControl()
    run = asyncio.create_task(project.run(control=control))
    await abort_when_it_waits(project.clock, control)
    result = await run
    assert result.status == "aborted"
    assert result.error is not None
    assert (result.error.type, result.error.step) == ("timeout", "clean")


async def test_an_abort_during_the_last_step_is_an_abort_even_when_the_step_succeeds(tmp_path):
    control = RunControl()
    project = Project(tmp_path, "- { id: a, kind: Functional, runner: stop }")
    project.node(
        """
        from tuvl import node

        @node("stop")
        def stop(ctx):
            ctx.abort.wait(10)
            return {"saw": ctx.abort.is_set()}
        """
    )
    asyncio.get_running_loop().call_later(0.01, control.abort, "now")
    result = await project.run(control=control)
    assert result.status == "aborted"


async def test_the_run_limit_cancels_what_is_in_flight_and_fails_the_run(tmp_path):
    """E11 config.unenforced: limits.timeout_s."""
    steps = "- { id: work, kind: Functional, runner: wait, seconds: 3600, routes: { error: END } }"
    project = Project(tmp_path, steps, limits={"timeout_s": 0.05})
    result = await project.run()
    assert (result.status, result.signal, result.exit_code) == ("failed", "error", 1)
    assert result.error is not None
    assert (result.error.type, result.error.step) == ("timeout", "work")
    assert "did not finish within 0.05 s" in result.error.message


async def test_a_timeout_given_at_the_call_tightens_the_limit_and_never_loosens_it(tmp_path):
    steps = "- { id: work, kind: Functional, runner: wait, seconds: 3600 }"
    project = Project(tmp_path, steps, limits={"timeout_s": 0.05})
    result = await project.run(timeout_s=600)
    assert result.error is not None
    assert result.error.detail == {"timeout_s": 0.05}


async def test_a_step_that_overruns_its_timeout_leaves_on_error(tmp_path):
    """E11 config.unenforced: timeout_s of a step."""
    result = await Project(
        tmp_path,
        """
        - { id: work, kind: Functional, runner: wait, seconds: 3600, timeout_s: 0.05, routes: { error: mend } }
        - { id: mend, kind: Functional, runner: set, values: { why: "{{ _last_error_type }}" } }
        """,
    ).run()
    assert (result.status, result.context) == ("completed", {"why": "timeout"})


SLOW_NODES = """
    import asyncio
    import threading

    from tuvl import node

    release = threading.Event()


    @node("stuck")
    def stuck(ctx):
        release.wait(60)
        return {"late": True}


    @node("stubborn")
    async def stubborn(ctx):
        while not release.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                pass
        return {"late": True}


    @node("quits")
    async def quits(ctx):
        raise asyncio.CancelledError
"""


def release_of(project: Project) -> threading.Event:
    modules = [module for name, module in sys.modules.items() if name.startswith("_tuvl_node_")]
    found = [module for module in modules if module.__file__ == str(project.root / "nodes" / "stock.py")]
    return found[0].release


async def test_a_blocking_node_is_abandoned_at_its_timeout_while_others_go_on(tmp_path):
    """G04 timeout.sync_block."""
    project = Project(
        tmp_path,
        """
        - { id: load_the_file, kind: Functional, runner: quits, routes: { error: work } }
        - { id: work, kind: Functional, runner: stuck, timeout_s: 0.2, routes: { default: END, error: mend } }
        - { id: mend, kind: Functional, runner: set, values: { why: "{{ _last_error_type }}" } }
        """,
    ).node(SLOW_NODES)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    try:
        result = await project.run()
    finally:
        ticking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ticking
        release_of(project).set()
    assert (result.status, result.context) == ("completed", {"why": "timeout"})
    assert ticks  # the loop was free; how often it came round is the machine's affair


async def test_stuck_threads_take_nothing_from_others(tmp_path):
    """G04 timeout.sync_block: threads are not a pool that fills up."""
    # The file is loaded by a step of its own: on a busy machine its import may take longer than the deadline.
    project = Project(
        tmp_path,
        """
        - { id: load_the_file, kind: Functional, runner: quits, routes: { error: work } }
        - { id: work, kind: Functional, runner: stuck, timeout_s: 0.05, routes: { error: END } }
        """,
    ).node(SLOW_NODES)
    try:
        results = await asyncio.gather(*(stuck_run(project) for _ in range(60)))
        assert {result.error.type for result in results} == {"timeout"}
    finally:
        release_of(project).set()


async def stuck_run(project: Project):
    engine = project.engine()
    result = await engine.run(project.plan(), {})
    await engine.aclose()
    return result


async def test_a_node_that_ignores_its_cancellation_is_abandoned_and_its_late_result_is_void(tmp_path, monkeypatch):
    monkeypatch.setattr("tuvl.tools.deadline.run_with_deadline.__kwdefaults__", {"grace_s": 0.05})
    project = Project(
        tmp_path,
        """
        - { id: load_the_file, kind: Functional, runner: quits, routes: { error: work } }
        - { id: work, kind: Functional, runner: stubborn, timeout_s: 0.1, routes: { error: END } }
        """,
    ).node(SLOW_NODES)
    engine = project.engine()
    before, others = asyncio.all_tasks(), set(leftovers._going_on)  # of tests before this one
    result = await engine.run(project.plan(), {})
    assert result.error is not None
    assert result.error.type == "timeout"
    assert result.warnings == (
        "step 'work' was told to stop and goes on; it is left behind, and what it still does is unknown",
    )
    # Nobody who ends the event loop waits for it, not even `asyncio.run`.
    assert asyncio.all_tasks() == before
    assert leftovers.any_left()
    assert leftovers._going_on - others
    release_of(project).set()
    async with asyncio.timeout(60):
        while leftovers._going_on - others:
            await asyncio.sleep(0.01)
    await engine.aclose()
    assert result.context == {}


async def test_a_node_that_cancels_itself_has_failed_and_the_run_goes_on(tmp_path):
    project = Project(
        tmp_path,
        """
        - { id: work, kind: Functional, runner: quits, routes: { error: mend } }
        - { id: mend, kind: Functional, runner: set, values: { why: "{{ _last_error_type }}" } }
        """,
    ).node(SLOW_NODES)
    assert (await project.run()).context == {"why": "cancelled"}


async def test_a_cancellation_passes_through_and_leaves_no_task_and_one_terminal_event(tmp_path):
    """G01 task.leak."""
    project, seen = Project(tmp_path, WAIT_THEN_CLEAN), Seen()
    project.clock = clock = ManualClock()
    before = asyncio.all_tasks()
    run = asyncio.create_task(project.run(sinks=[seen]))
    async with asyncio.timeout(10):
        await clock.until_someone_sleeps()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert asyncio.all_tasks() == before
    assert seen.types == ["run_started", "step_started", "step_finished", "run_finished"]
    assert seen.events[-1].body.status == "aborted"


async def test_a_run_that_is_paused_parks_before_its_next_step_and_goes_on_when_told(tmp_path):
    project = Project(
        tmp_path,
        """
        - { id: a, kind: Functional, runner: wait, seconds: 5 }
        - { id: b, kind: Functional, runner: set, values: { done: true } }
        """,
    )
    project.clock, control, seen = ManualClock(), RunControl(), Seen()
    run = asyncio.create_task(project.run(control=control, sinks=[seen]))
    async with asyncio.timeout(10):
        await project.clock.until_someone_sleeps()
        control.pause()
        await project.clock.advance(5)
        for _ in range(20):
            await asyncio.sleep(0)
        assert not run.done()
        control.resume()
        result = await run
    assert (result.status, ids(result)) == ("completed", ["a", "b"])


async def test_a_pause_beyond_its_maximum_becomes_an_abort(tmp_path):
    control = RunControl(pause_max_s=0.01)
    control.pause()
    result = await Project(tmp_path, WAIT_THEN_CLEAN).run(control=control)
    assert result.status == "aborted"
    assert result.context["cleaned"] == "aborted"


def test_a_stuck_node_does_not_hold_up_the_end_of_the_process(tmp_path):
    """G04 timeout.sync_block."""
    project = Project(tmp_path, "- { id: a, kind: Functional, runner: stuck, timeout_s: 0.1 }").node(SLOW_NODES)
    code = (
        "import asyncio, sys, pathlib\n"
        "from tests.engine.run_support import Project\n"
        "async def main():\n"
        "    project = Project(pathlib.Path(sys.argv[1]))\n"
        "    result = await project.run()\n"
        "    print(result.error.type)\n"
        "asyncio.run(main())\n"
    )
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code, str(project.root)], capture_output=True, text=True, timeout=50, check=True
    )
    assert done.stdout == "timeout\n"
    assert time.monotonic() - started < 50  # the node would have held on for 60 s
