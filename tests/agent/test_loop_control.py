"""Pause, steer and abort reach the loop at once, and nothing outlives it."""

import asyncio

import pytest

from tests.agent.loop_support import Loop, ask, say
from tuvl.control import RunControl


async def test_aborted_before_it_starts_makes_no_model_call():
    loop = Loop([])
    loop.control.abort("changed my mind")
    ended = await loop.run()
    assert (ended.signal, ended.reason.message) == ("aborted", "changed my mind")


async def test_abort_during_the_model_call_records_no_reply():
    loop = Loop([])

    async def slow(_request):
        loop.control.abort()
        await asyncio.Event().wait()

    loop.model.replies.append(slow)
    ended = await asyncio.wait_for(loop.run(), 5)
    assert ended.signal == "aborted"
    assert loop.entries("assistant") == []


async def test_abort_from_another_task_cancels_the_model_call_in_flight():
    waiting = asyncio.Event()
    loop = Loop([])

    async def slow(_request):
        waiting.set()
        await asyncio.Event().wait()

    loop.model.replies.append(slow)
    run = asyncio.create_task(loop.runner.run("s", "u"))
    await waiting.wait()
    loop.control.abort()
    ended = await asyncio.wait_for(run, 5)
    assert ended.signal == "aborted"
    assert run.cancelling() == 0


async def test_abort_between_calls_runs_no_later_one_and_every_call_has_one_result():
    """C06."""
    control = RunControl()

    def stop():
        control.abort()
        return {}

    loop = Loop([ask(("f", {}), ("g", {}, "c2"), ("g", {}, "c3"))], tools={"f": stop, "g": {}}, control=control)
    ended = await loop.run()
    assert ended.signal == "aborted"
    assert [name for name, _ in loop.ran] == ["f"]
    results = loop.entries("tool_result")
    assert [entry["call_id"] for entry in results] == ["c1", "c2", "c3"]
    assert results[0]["unanswered"] == "interrupted: aborted; whether it had an effect is unknown"
    assert [entry["unanswered"] for entry in results[1:]] == ["not run: aborted", "not run: aborted"]


async def test_abort_cancels_the_tool_in_flight():
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def slow():
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    loop = Loop([ask(("slow", {}))], tools={"slow": slow})
    run = asyncio.create_task(loop.runner.run("s", "u"))
    await started.wait()
    loop.control.abort()
    assert (await asyncio.wait_for(run, 5)).signal == "aborted"
    assert cancelled.is_set()


async def test_abort_in_the_last_permitted_turn_is_an_abort():
    control = RunControl()
    loop = Loop([ask(("f", {}))], tools={"f": lambda: control.abort()}, control=control, max_iterations=1)
    assert (await loop.run()).signal == "aborted"


async def test_abort_while_paused_is_immediate():
    loop = Loop([])
    loop.control.pause()
    run = asyncio.create_task(loop.runner.run("s", "u"))
    await asyncio.sleep(0)
    loop.control.abort()
    assert (await asyncio.wait_for(run, 5)).signal == "aborted"


async def test_a_pause_beyond_its_maximum_becomes_an_abort():
    loop = Loop([], control=RunControl(pause_max_s=0.02))
    loop.control.pause()
    ended = await loop.run()
    assert (ended.signal, ended.reason.message) == ("aborted", "paused for more than 0.02 s")


async def test_a_resumed_run_goes_on():
    loop = Loop([say("done")])
    loop.control.pause()
    run = asyncio.create_task(loop.runner.run("s", "u"))
    await asyncio.sleep(0)
    loop.control.resume()
    assert (await asyncio.wait_for(run, 5)).signal == "default"


async def test_steers_are_delivered_once_in_order_before_the_next_call():
    control = RunControl()

    def steer():
        control.steer("first")
        control.steer("second")

    loop = Loop([ask(("f", {})), ask(("f2", {}, "c2")), say("done")], tools={"f": steer, "f2": {}}, control=control)
    await loop.run()
    steers = [message for message in loop.sent(3) if message.role == "system"][1:]
    assert [message.content.splitlines()[-1] for message in steers] == ["first", "second"]
    assert "neither your tools" in steers[0].content
    assert steers == [message for message in loop.sent(2) if message.role == "system"][1:]


async def test_abort_said_twice_has_one_effect_and_keeps_the_first_reason():
    control = RunControl()
    control.abort("one")
    control.abort("two")
    assert control.abort_reason == "one"


async def test_a_cancellation_that_is_no_abort_passes_through():
    started = asyncio.Event()

    async def slow(_request):
        started.set()
        await asyncio.Event().wait()

    loop = Loop([slow])
    run = asyncio.create_task(loop.runner.run("s", "u"))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_broken_progress_sink_is_not_the_loops_concern():
    """The engine wraps sinks; the loop emits plain values and keeps no reference to them."""
    loop = Loop([ask(("lookup", {})), say("done")])
    await loop.run()
    assert [event.type for event in loop.events] == [
        "iteration",
        "tool_call_started",
        "tool_call",
        "iteration",
        "outcome",
    ]
    assert "found" not in str(loop.events)
