"""The runs that a process has taken: each goes on by its record, until it ends, waits, or is left to others."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import cast

from tuvl.control import Intervention, RunControl
from tuvl.data.faults import UNKEEPABLE, is_of_value
from tuvl.durable.backend import DbosRows
from tuvl.durable.faults import RecordRefused
from tuvl.durable.inherited import record_of, rows_of_payload
from tuvl.durable.leaving import LeavingJournal
from tuvl.durable.line_state import LineState
from tuvl.durable.queued import LeftToOthers
from tuvl.durable.record import Answer
from tuvl.durable.shared_state import DatabaseFault, SharedState
from tuvl.durable.shared_tables import QUEUE
from tuvl.durable.together import Together
from tuvl.durable.wait_rows import WaitRow, opened_wait
from tuvl.engine.result import RunResult
from tuvl.errors import ConfigError, OutputError, StepError, TuvlError
from tuvl.events.sink import Sink
from tuvl.hosting.hearing import Heard, Hearing
from tuvl.hosting.listing import row_of
from tuvl.hosting.performing import performed
from tuvl.hosting.started import Started, last_definition
from tuvl.hosting.waiting import keep_queued, wait_of
from tuvl.hosting.workshop import Workshop
from tuvl.plan.model import ExecutionPlan
from tuvl.redaction import redact
from tuvl.supervision.registry import RunRegistry
from tuvl.tools.approval import Approvals
from tuvl.values import JsonObject

RECORD_PAUSE_S = 1.0
"""Seconds before a run whose record could not be written is left to whoever takes it next."""

_log = logging.getLogger("tuvl.hosting")


class Taken:
    """Performs runs, and knows those that go on here."""

    def __init__(
        self,
        workshop: Workshop,
        state: SharedState,
        registry: RunRegistry,
        *,
        hearing: Hearing,
        lines: LineState,
        sinks_for: Callable[[str], Sequence[Sink]],
        control_for: Callable[[str], RunControl],
        approvals: Approvals,
        wake: Callable[[], None],
    ) -> None:
        """`wake` says that there may be something on the queue."""
        self._wake = wake
        self._workshop = workshop
        self._state = state
        self._told = Together(state.told)
        self._registry = registry
        self._hearing = hearing
        self._heard: dict[str, Heard] = {}
        self._sinks_for = sinks_for
        self._control_for = control_for
        self._approvals = approvals
        self._controls: dict[str, RunControl] = {}
        self._tasks: set[asyncio.Task[object]] = set()
        self._stopped: set[str] = set()
        self._through: dict[str, asyncio.Event] = {}
        self._lines = lines
        self._in_line: dict[str, str] = {}
        """Runs of workflows of which only so many go on at once → their workflow."""
        self._waited: set[str] = set()
        """Runs that have waited for somebody, so that there is something of it to forget at their end."""
        self.leaving = False
        """Whether runs are let go of after the entry of their record that is in work."""

    @property
    def running(self) -> list[str]:
        """Ids of the runs that go on here."""
        return list(self._controls)

    def leave(self) -> None:
        """Let go of the runs that go on here: of those that are paused now, of others after what they are doing."""
        self.leaving = True
        for control in self._controls.values():
            control.let_go()

    async def cancel(self) -> None:
        """Cut off what goes on here, and wait until it has stopped."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=RECORD_PAUSE_S)

    async def obey(self) -> None:
        """Stop the runs that somebody wants to be stopped."""
        here = [run_id for run_id in self._controls if run_id not in self._stopped]
        if not here:
            return
        for run_id, order in (await asyncio.to_thread(self._state.aborts, here)).items():
            self.abort(run_id, order.reason, by=order.by)

    def abort(self, run_id: str, reason: str, *, by: str) -> None:
        """Stop a run that goes on here."""
        control = self._controls.get(run_id)
        if control is not None and run_id not in self._stopped:
            self._stopped.add(run_id)
            control.intervene(Intervention(action="abort", source="operator", by=by, reason=reason), reason)

    async def perform(
        self, run_id: str, payload: JsonObject, rows: DbosRows, found: Mapping[str, JsonObject]
    ) -> JsonObject:
        """Perform a run; returns what is recorded as its end, raises `LeftToOthers` when it has not ended."""
        # It may be here again before it is let go of altogether: what is kept of it here is by its id.
        while (before := self._through.get(run_id)) is not None:
            await before.wait()
        through = self._through[run_id] = asyncio.Event()
        try:
            return await self._perform(run_id, payload, rows, found)
        finally:
            del self._through[run_id]
            through.set()

    async def _perform(
        self, run_id: str, payload: JsonObject, rows: DbosRows, found: Mapping[str, JsonObject]
    ) -> JsonObject:
        task = cast("asyncio.Task[object]", asyncio.current_task())
        self._tasks.add(task)
        self._controls[run_id] = self._control_for(run_id)
        try:
            started = last_definition({**rows_of_payload(payload), **found}, Started.of(payload))
            await self._registry.access.ready()
            try:
                result = await self._performed(run_id, started, rows, payload, found)
                await self._let_go(result, started, rows.owner)
            except (DatabaseFault, StepError) as error:
                if not is_of_value(error):
                    raise
                result = await self._refused(run_id, started, error)
        except (DatabaseFault, ConfigError, OutputError, StepError) as error:
            await self._left_for_want(run_id, rows.owner, error)
            raise LeftToOthers from None
        finally:
            await self._leave_line(run_id)
            self._tasks.discard(task)
            self._controls.pop(run_id, None)
            if (heard := self._heard.pop(run_id, None)) is not None:
                heard.leave()
            self._stopped.discard(run_id)
            self._waited.discard(run_id)
        return {"v": 1, "result": result.to_json()}

    async def _performed(
        self, run_id: str, started: Started, rows: DbosRows, payload: JsonObject, own: Mapping[str, JsonObject]
    ) -> RunResult:
        control = self._controls[run_id]
        kept, order = await self._told.about(run_id)
        waits = [opened_wait(wait, self._state.keys, must=rows.sealed) for wait in kept]
        answers = _answers(waits)
        found = record_of(payload, own, answers)
        if waits:
            self._waited.add(run_id)
        heard = self._heard[run_id] = await self._hearing.begin(run_id, attempt=rows.attempt)
        if order is not None:
            self.abort(run_id, order.reason, by=order.by)
        try:
            leaving, earlier = lambda: self.leaving, rows.attempt > 1
            journal = LeavingJournal(rows, found, leaving=leaving, answers=answers, earlier=earlier)
            control.leave = journal.leave
            if self.leaving:
                control.let_go()
            async with self._workshop.of(started) as prepared:
                if order is None:
                    await self._line_up(run_id, prepared.plan, rows)
                if prepared.changed:
                    _log.info("run %r goes on with the files it was started with", run_id)
                return await performed(
                    prepared.engine,
                    prepared.plan,
                    started,
                    run_id,
                    journal,
                    control=control,
                    sinks=[heard, *self._sinks_for(run_id)],
                    approvals=self._approvals,
                )
        except (DatabaseFault, OutputError):
            raise  # of this process or its database, not of the run
        except TuvlError as error:
            return await self._impossible(run_id, started, "not_startable", redact(str(error)))
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has an end
            _log.exception("run %r has met a mistake of tuvl", run_id)
            return await self._impossible(run_id, started, "internal", f"a mistake of tuvl: {type(error).__name__}")

    async def _line_up(self, run_id: str, plan: ExecutionPlan, rows: DbosRows) -> None:
        """Have a place among the runs of a workflow, or leave the run until there is one."""
        most = plan.limits.concurrency
        if most is None:
            return
        if rows.attempt > 1:
            try:
                # Before it is known: once it stands in line, another process may have it, and say so.
                await self._registry.access.store.requeue(run_id, was="running")
            except StepError as error:
                _log.warning("run %r may stand in line, which is not on record: %s", run_id, redact(str(error)))
        if not await asyncio.to_thread(self._lines.enter, run_id, plan.workflow, most=most, owner=rows.owner):
            raise LeftToOthers
        self._in_line[run_id] = plan.workflow

    async def _leave_line(self, run_id: str) -> None:
        workflow = self._in_line.pop(run_id, None)
        if workflow is None:
            return
        try:
            await asyncio.to_thread(self._lines.leave, run_id, workflow)
            self._wake()
        except DatabaseFault as error:
            # Whoever looks at the line next finds that nobody has the run.
            _log.warning("run %r is not out of the line yet: %s", run_id, type(error).__name__)

    async def _left_for_want(self, run_id: str, owner: str, error: Exception) -> None:
        """Leave a run that nothing can be read or kept of just now, as soon as that can be said."""
        _log.warning("run %r is left until its database is back: %s", run_id, redact(type(error).__name__))
        while True:
            await asyncio.sleep(RECORD_PAUSE_S)
            try:
                await asyncio.to_thread(self._state.leave, run_id, owner=owner)
                return
            except DatabaseFault:
                continue

    async def _let_go(self, result: RunResult, started: Started, owner: str) -> None:
        """Let go of a run that has not ended; raises `LeftToOthers` for it."""
        kind = None if result.error is None else result.error.type
        if kind == "run_lost":
            raise LeftToOthers
        if result.error is not None and isinstance(result.error.cause, RecordRefused):
            raise StepError(result.error.message, type="record_failed", detail={"fault": UNKEEPABLE})
        if kind in ("run_left", "record_failed"):
            if kind == "record_failed":
                await asyncio.sleep(RECORD_PAUSE_S)
            await self._registry.access.store.requeue(result.run_id, was="running")
            await asyncio.to_thread(self._state.leave, result.run_id, owner=owner)
            raise LeftToOthers
        if result.status == "suspended":
            await self._suspend(result, started, owner)
            raise LeftToOthers
        if result.run_id in self._waited or result.run_id in self._stopped:
            await asyncio.to_thread(self._state.over, result.run_id)
        self._heard[result.run_id].end(result.status)

    async def _suspend(self, result: RunResult, started: Started, owner: str) -> None:
        """Have a run wait for somebody; it goes on at once where it has been answered, or told to stop, meanwhile."""
        store = self._registry.access.store
        since = await store.suspended_since(result.run_id)  # nobody else says so as long as we have it
        queue = await asyncio.to_thread(self._state.suspend, wait_of(result, started), owner=owner)
        if queue is None:
            return
        self._heard[result.run_id].end("suspended")
        if queue == QUEUE:
            await keep_queued(store, result.run_id, since=since)

    async def _refused(self, run_id: str, started: Started, error: Exception) -> RunResult:
        """End a run of which something can be kept nowhere: who takes it next would fail in the same way."""
        _log.error("run %r ends, since it cannot be kept: %s", run_id, redact(type(error).__name__))
        said = error.message if isinstance(error, StepError) else type(error).__name__
        message = f"something of the run cannot be kept in the database: {redact(said)}"
        result = await self._impossible(run_id, started, "record_failed", message)
        await asyncio.to_thread(self._state.over, run_id)
        if (heard := self._heard.get(run_id)) is not None:
            heard.end("failed")
        return result

    async def _impossible(self, run_id: str, started: Started, type: str, message: str) -> RunResult:
        """Return the end of a run that cannot go on here, nor anywhere with the same files and settings."""
        result = RunResult.unperformed(run_id, started.workflow, "", type=type, message=message)
        store = self._registry.access.store
        await store.queued(row_of(run_id, started, at=datetime.now(UTC)))  # whoever accepted it may not have done so
        await store.finish(run_id, status="failed", signal=None, at=datetime.now(UTC), result=result.to_json())
        return result


def _answers(waits: Sequence[WaitRow]) -> tuple[Answer, ...]:
    return tuple(
        Answer(
            wait=wait.name,
            digest=wait.digest,
            by=wait.answered_by,
            at=datetime.fromtimestamp(wait.answered_at, UTC),
            value=wait.answer,
        )
        for wait in reversed(waits)
        if wait.answer is not None and wait.answered_at is not None and wait.answered_by is not None
    )
