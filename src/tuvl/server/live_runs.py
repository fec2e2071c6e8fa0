"""The runs of this process that are not durable: each a task, watched by its clients, ended when nobody wants it."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from datetime import datetime

from tuvl.clock import Clock
from tuvl.control import Intervention, RunControl
from tuvl.dataclass import dataclass
from tuvl.errors import TuvlError
from tuvl.events.sink import Sink
from tuvl.plan.model import ExecutionPlan
from tuvl.principal import Principal
from tuvl.redaction import redact
from tuvl.runtime import Engine
from tuvl.server.event_log import EventLog
from tuvl.server.problems import Problem, problem_of
from tuvl.values import JsonObject

REMEMBERED = 200
"""Runs that have ended and whose events can still be read."""

_log = logging.getLogger("tuvl.server")


@dataclass(slots=True, kw_only=True)
class LiveRun:
    """A run of this process, while it goes on and for a while after."""

    run_id: str
    workflow: str
    schema_version: str
    principal: Principal
    started_at: datetime
    detached: bool
    control: RunControl
    log: EventLog
    attached: int = 0
    """Clients that wait for it."""
    result: JsonObject | None = None
    problem: Problem | None = None
    """Why it could not begin."""
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def may_be_seen_by(self, reader: Principal) -> bool:
        """Whether it is there for somebody."""
        return reader.may_see(self.principal.tenant)

    async def outcome(self) -> JsonObject:
        """Wait for the end, and return the result document; raises `Problem` when the run could not begin."""
        await self.done.wait()
        if self.problem is not None:
            raise self.problem
        assert self.result is not None
        return self.result

    def leave(self) -> None:
        """Say that a client waits no more; the last one ends a run that was not started detached."""
        self.attached -= 1
        if self.attached <= 0 and not self.detached and not self.done.is_set():
            self.control.intervene(
                Intervention(action="abort", source="operator", by=self.principal.id), "its client has left"
            )


class LiveRuns:
    """Starts runs, and knows them by their ids."""

    def __init__(
        self,
        engine: Engine,
        *,
        concurrency: int,
        pause_max_s: float,
        clock: Clock,
        sinks: Callable[[], Sequence[Sink]] = lambda: (),
        ended: Callable[[LiveRun], None] = lambda run: None,
    ) -> None:
        self._engine = engine
        self._concurrency = concurrency
        self._pause_max_s = pause_max_s
        self._clock = clock
        self._sinks = sinks
        self._on_end = ended
        self._running: dict[str, LiveRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended: OrderedDict[str, LiveRun] = OrderedDict()

    @property
    def running(self) -> int:
        """How many go on."""
        return len(self._running)

    @property
    def ids(self) -> Collection[str]:
        """Ids of those that go on."""
        return self._running.keys()

    @property
    def has_room(self) -> bool:
        """Whether another one may begin."""
        return len(self._running) < self._concurrency

    def find(self, run_id: str, reader: Principal) -> LiveRun | None:
        """Return a run of this process that the reader may see."""
        run = self._running.get(run_id) or self._ended.get(run_id)
        return run if run is not None and run.may_be_seen_by(reader) else None

    def begin(
        self,
        plan: ExecutionPlan,
        input: JsonObject,
        *,
        run_id: str,
        principal: Principal,
        timeout_s: float,
        trace: bool,
        detached: bool,
    ) -> LiveRun:
        """Begin a run that was found good; it goes on by itself."""
        run = LiveRun(
            run_id=run_id,
            workflow=plan.workflow,
            schema_version=plan.schema_version,
            principal=principal,
            started_at=self._clock.now(),
            detached=detached,
            control=RunControl(pause_max_s=self._pause_max_s),
            log=EventLog(run_id, clock=self._clock),
        )
        self._running[run_id] = run
        task = asyncio.create_task(
            self._perform(run, plan, input, timeout_s=timeout_s, trace=trace), name=f"run {run_id}"
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return run

    async def _perform(
        self, run: LiveRun, plan: ExecutionPlan, input: JsonObject, *, timeout_s: float, trace: bool
    ) -> None:
        try:
            result = await self._engine.run(
                plan,
                input,
                control=run.control,
                sinks=[run.log, *self._sinks()],
                principal=run.principal,
                timeout_s=timeout_s,
                run_id=run.run_id,
                trace=trace,
                on_record=True,
            )
            for warning in result.warnings:
                _log.warning("run %s: %s", run.run_id, redact(warning))
            run.result = result.to_json()
        except TuvlError as error:
            run.problem = problem_of(error)
        except Exception as error:  # noqa: BLE001 - one run that fails in a way nobody thought of must not end others
            _log.error("run %s could not be performed: %s", run.run_id, redact(repr(error)))
            run.problem = Problem(500, "internal", "the server made a mistake; its log says which")
        finally:
            self._retire(run)

    def _retire(self, run: LiveRun) -> None:
        if run.result is None and run.problem is None:
            run.problem = Problem(500, "cut-off", "the server closed down before the run had an end")
        run.log.end("failed")
        run.done.set()
        del self._running[run.run_id]
        self._ended[run.run_id] = run
        while len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)
        self._on_end(run)

    async def drain(self, *, grace_s: float, last_s: float) -> None:
        """Let runs go on for so many seconds, then abort them, and wait for their ends a little longer."""
        await self._wait_all(grace_s)
        for run in list(self._running.values()):
            run.control.abort("the server is closing down")
        await self._wait_all(last_s)
        for run in list(self._running.values()):
            run.control.abort("the server is closing down")  # what was routed from `aborted` ends, too
        await self._wait_all(last_s)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _wait_all(self, seconds: float) -> None:
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=seconds)
