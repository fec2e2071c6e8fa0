"""Fires the hooks of one run. Whatever a hook does, or fails to do, the run does not notice."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import assert_never

from tuvl.hooks.actions import Notify, count, log, write_log
from tuvl.hooks.occurrence import Occurrence
from tuvl.metrics import Counters
from tuvl.plan.hooks import HookPlan
from tuvl.redaction import redact
from tuvl.values import JsonObject, shorten

TIMEOUT_S = 10.0
"""How long one notification may take, waiting included; so long may the last one hold up the end of a run."""

AT_ONCE = 4
"""Notifications of a run that are under way at one time."""

MOST_PENDING = 200
"""Notifications of a run that wait or are under way; more are not sent, which is logged."""


class HookEmitter:
    """The hooks of one run. Log lines and counts are made at once; notifications run beside the run."""

    def __init__(self, *, run_id: str, workflow: str, notify: Notify, counters: Counters) -> None:
        self._run_id = run_id
        self._workflow = workflow
        self._notify = notify
        self._counters = counters
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._pending: set[asyncio.Task[None]] = set()

    def fire(self, hooks: Sequence[HookPlan], occurrence: Occurrence) -> None:
        """Fire those of the hooks that wait for this event, in order; never raises."""
        for hook in hooks:
            if hook.on != occurrence.event:
                continue
            payload = occurrence.payload(hook=hook.artifact, run_id=self._run_id, workflow=self._workflow)
            try:
                self._act(hook, payload)
            except Exception as error:  # noqa: BLE001 - a log handler or an exporter is a guest of the run
                _failed(hook, payload, str(error) or type(error).__name__)

    def _act(self, hook: HookPlan, payload: JsonObject) -> None:
        match hook.action:
            case "log":
                write_log(payload)
            case "metric":
                count(self._counters, payload)
            case "notify":
                self._send(hook, payload)
            case _:
                assert_never(hook.action)

    def _send(self, hook: HookPlan, payload: JsonObject) -> None:
        if len(self._pending) >= MOST_PENDING:
            _failed(hook, payload, f"{MOST_PENDING} notifications are waiting already")
            return
        # The message about a failure must not read from a payload that the call was given.
        work = self._notify(hook.target or "", dict(payload))
        task = asyncio.get_running_loop().create_task(self._deliver(hook, payload, work))
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def _deliver(self, hook: HookPlan, payload: JsonObject, work: Coroutine[None, None, str | None]) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_S), self._slots:
                problem = await work
        except TimeoutError:
            problem = _too_long()
        except asyncio.CancelledError:
            # The end of the run waits no longer: whoever reads the log is to know that nothing is sure of this one.
            _failed(hook, payload, _too_long())
            raise
        except Exception as error:  # noqa: BLE001 - whatever a notification meets is no matter of the run
            problem = str(error) or type(error).__name__
        finally:
            work.close()  # of one that never began; otherwise nothing happens
        if problem is not None:
            _failed(hook, payload, problem)

    async def settle(self) -> None:
        """Wait for what is under way; afterwards nothing of the hooks is running."""
        try:
            if self._pending:
                await asyncio.wait(self._pending, timeout=TIMEOUT_S)
        finally:
            left = set(self._pending)
            for task in left:
                task.cancel()
            if left:
                await asyncio.wait(left)


def _too_long() -> str:
    return f"it was not done within {TIMEOUT_S:g} s"


def _failed(hook: HookPlan, payload: JsonObject, problem: str) -> None:
    where = f" at step {payload['step']!r}" if "step" in payload else ""
    said = shorten(redact(problem))
    log.warning("hook %r (%s on %s) failed%s: %s", hook.artifact, hook.action, hook.on, where, said)
