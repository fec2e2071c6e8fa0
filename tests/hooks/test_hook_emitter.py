"""The emitter by itself: guests that raise, payloads that are private, and its bounds."""

import asyncio
import logging

import pytest

from tuvl.hooks.emit import AT_ONCE, MOST_PENDING, HookEmitter
from tuvl.hooks.occurrence import Occurrence
from tuvl.metrics import HOOK_EVENTS, Counters
from tuvl.plan.hooks import HookPlan

BEFORE = Occurrence(event="before_step", step="a", kind="Agent")


def hook(action, on="before_step", name="h@1"):
    return HookPlan(artifact=name, on=on, action=action, target="tell" if action == "notify" else None)


def emitter(notify=None, counters=None):
    return HookEmitter(run_id="r", workflow="w", notify=notify, counters=counters or Counters())


class Refusing(Counters):
    def add(self, name, attributes=None, amount=1):
        raise RuntimeError("exporter down")


async def test_a_hook_that_raises_is_one_log_line_and_the_others_still_fire(caplog):
    """Edge 47, G14 hook.isolation: logged, swallowed, nothing changes."""
    with caplog.at_level(logging.INFO, "tuvl.hooks"):
        emitter(counters=Refusing()).fire([hook("metric"), hook("log", name="i@1")], BEFORE)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert caplog.records[0].message == "hook 'h@1' (metric on before_step) failed at step 'a': exporter down"


async def test_a_hook_that_changes_its_payload_changes_only_its_own():
    """G14 hook.isolation: payload copy only."""
    seen = []

    def notify(target, payload):
        async def work():
            seen.append(dict(payload))
            payload.clear()

        return work()

    subject = emitter(notify)
    subject.fire([hook("notify"), hook("notify", name="i@1")], BEFORE)
    await subject.settle()
    assert seen == [
        {"event": "before_step", "hook": name, "run_id": "r", "workflow": "w", "step": "a", "kind": "Agent"}
        for name in ("h@1", "i@1")
    ]


async def test_only_hooks_that_wait_for_the_event_fire():
    counters = Counters()
    emitter(counters=counters).fire([hook("metric", on="after_step"), hook("metric")], BEFORE)
    assert counters.value(HOOK_EVENTS) == 1
    assert counters.value(HOOK_EVENTS, {"event": "before_step"}) == 1
    assert counters.value(HOOK_EVENTS, {"event": "after_step"}) == 0


async def test_notifications_are_bounded_in_number_at_once_and_waiting(caplog):
    running, most, release = 0, 0, asyncio.Event()

    def notify(target, payload):
        async def work():
            nonlocal running, most
            running += 1
            most = max(most, running)
            await release.wait()
            running -= 1

        return work()

    subject = emitter(notify)
    with caplog.at_level(logging.WARNING, "tuvl.hooks"):
        for _ in range(MOST_PENDING + 2):
            subject.fire([hook("notify")], BEFORE)
        for _ in range(5):
            await asyncio.sleep(0)
        release.set()
        await subject.settle()
    assert most == AT_ONCE
    assert running == 0
    assert len(caplog.records) == 2


@pytest.mark.parametrize("error", [RuntimeError("lost"), ValueError(), TimeoutError()])
async def test_a_notification_that_raises_is_one_log_line(caplog, error):
    def notify(target, payload):
        async def work():
            raise error

        return work()

    subject = emitter(notify)
    with caplog.at_level(logging.WARNING, "tuvl.hooks"):
        subject.fire([hook("notify")], BEFORE)
        await subject.settle()
    assert len(caplog.records) == 1


async def test_a_notification_that_does_not_end_in_time_is_one_log_line_however_it_is_cut_off(caplog, monkeypatch):
    """The end of the run may cut off one that is already told to stop and takes its time over it."""
    monkeypatch.setattr("tuvl.hooks.emit.TIMEOUT_S", 0.01)

    async def lingering():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)

    subject = emitter(lambda target, payload: lingering())
    subject.fire([hook("notify")], BEFORE)
    await subject.settle()
    assert caplog.messages == [
        "hook 'h@1' (notify on before_step) failed at step 'a': it was not done within 0.01 s",
    ]
