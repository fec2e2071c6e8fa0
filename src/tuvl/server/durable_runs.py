"""Durable runs, which outlive the server: handed to the host of the project, watched here as far as they go on here."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from datetime import datetime

from tuvl.clock import Clock
from tuvl.data.retention import ENDED
from tuvl.engine.admission import MayNotStart
from tuvl.errors import TuvlError, UsageError
from tuvl.events.sink import Sink
from tuvl.hosting.host import Host
from tuvl.hosting.opening import require_backend
from tuvl.hosting.requests import (
    Answered,
    AnswerRefused,
    AnswerRequest,
    NoSuchRun,
    NotRenewed,
    StartRequest,
    WaitingRun,
)
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.redaction import redact
from tuvl.sealing import Unopened
from tuvl.server.elsewhere import LOOK_S, Elsewhere
from tuvl.server.event_log import EventLog
from tuvl.server.performed_here import Ended, PerformedHere, Scheduled
from tuvl.server.problems import Problem, unknown_run
from tuvl.server.reading import Reading, nowhere
from tuvl.settings import Settings
from tuvl.supervision.registry import RunRegistry
from tuvl.supervision.runs import Directive
from tuvl.values import JsonObject, storable

UNASKED_S = 120.0
"""Seconds after which a run that goes on elsewhere is followed no more, when nobody asks for it."""

KEPT_BY_S = 10.0
"""Seconds after which the events of a run that has stopped are kept, if ever: the list may know it sooner."""

REMEMBERED = 400
"""Runs whose events can still be read."""

_REFUSED = {"not_allowed": 403, "invalid": 422}
_NOT_RENEWED = {
    "performed": "being-performed",
    "ended": "has-ended",
    "gone_on": "gone-on",
    "parts": "parts-from-record",
}

_log = logging.getLogger("tuvl.server")


class DurableRun:
    """A durable run, for one client."""

    def __init__(self, runs: "DurableRuns", run_id: str, workflow: str, by: Principal, *, detached: bool) -> None:
        self.run_id = run_id
        self.workflow = workflow
        self.detached = detached
        self._runs = runs
        self._by = by
        self._ended = False

    @property
    def log(self) -> EventLog:
        """Its events, as far as they happen in this process."""
        return self._runs.log_of(self.run_id)

    async def outcome(self) -> JsonObject:
        """Wait until it has ended, or waits for somebody, and return its document."""
        document = await self._runs.host.wait(self.run_id)
        assert document is not None
        self._ended = True
        return document

    def leave(self) -> None:
        """Say that its client waits no more: that ends a run which was not started detached.

        A server that closes down leaves the run to the next process, and its clients look for it there.
        """
        if not (self.detached or self._ended or self.log.ended or self._runs.leaving):
            self._runs.abort_soon(self.run_id, "its client has left", by=self._by.id)


class DurableRuns:
    """The durable runs of a project, where the extra for them is installed."""

    def __init__(
        self,
        project: ProjectIndex,
        settings: Settings,
        registry: RunRegistry,
        reading: Reading,
        *,
        concurrency: int,
        clock: Clock,
        sinks: Callable[[], Sequence[Sink]],
        ended: Ended = lambda workflow, status, seconds: None,
        scheduled: Scheduled = lambda workflow: None,
    ) -> None:
        """Wire them; `ended` hears of the runs that end here, `scheduled` of those of schedules that begin here."""
        self._project = project
        self._settings = settings
        self._registry = registry
        self._reading = reading
        self._concurrency = concurrency
        self._clock = clock
        self._sinks = sinks
        self._on_end = ended
        self._on_schedule = scheduled
        self._host: Host | None = None
        self._stack = AsyncExitStack()
        self._elsewhere: Elsewhere | None = None
        self._logs: OrderedDict[str, EventLog] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self.leaving = False
        """Whether this process gives its runs up."""

    @property
    def there(self) -> bool:
        """Whether there can be any."""
        return self._host is not None

    @property
    def running(self) -> int:
        """How many go on in this process."""
        return 0 if self._host is None else len(self._host.running)

    @property
    def host(self) -> Host:
        """What has them; raises `Problem` where there can be none."""
        if self._host is None:
            raise Problem(409, "not-runnable", "durable runs need the extra 'durable', which is not installed here")
        return self._host

    async def open(self) -> None:
        """Take up those that were left; raises `UsageError` when another process has their file."""
        try:
            require_backend()
        except UsageError:
            return  # plain runs do without
        self._host = await self._stack.enter_async_context(
            Host.open(
                self._project,
                self._settings,
                concurrency=self._concurrency,
                registry=self._registry,
                sinks_for=lambda run_id: self._sinks(),
                follower_for=lambda run_id: PerformedHere(self._begun(run_id), self._on_end, self._on_schedule),
            )
        )
        self._reading.unlisted = self._host.listing.shown
        self._elsewhere = Elsewhere(self._host, self._registry.access)
        self._spawn(self._look(self._elsewhere))

    async def drain(self, timeout_s: float) -> None:
        """Leave those that go on here to others, each after what it is doing."""
        self.leaving = True
        if self._host is not None:
            await self._host.drain(timeout_s)

    def wake_readers(self) -> None:
        """Let those who watch runs that are left here know that the server closes down."""
        for log in self._logs.values():
            log.wake()

    async def aclose(self) -> None:
        """Let go of them."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._reading.unlisted = nowhere
        await self._stack.aclose()
        self._host = None

    async def start(self, request: StartRequest, *, detached: bool) -> DurableRun:
        """Put a run on record, to be performed here or elsewhere; one with the same id is attached to."""
        run_id = await self.host.start(request)
        return DurableRun(self, run_id, request.workflow, request.principal, detached=detached)

    async def find(self, run_id: str, workflow: str, by: Principal) -> DurableRun | None:
        """Return a run that was started before, wherever; raises `Unopened` for one that takes another key."""
        return self.watched(run_id, workflow, by) if await self.has(run_id) else None

    async def has(self, run_id: str) -> bool:
        """Tell whether there is such a run, wherever; raises `Unopened` for one that takes another key."""
        if self._host is None:
            return False
        try:
            await self._host.state(run_id)
        except NoSuchRun:
            return False
        return True

    def watched(self, run_id: str, workflow: str, by: Principal) -> DurableRun:
        """Return a run for a client that watches it and may leave."""
        return DurableRun(self, run_id, workflow, by, detached=True)

    async def waits(self, reader: Principal) -> list[WaitingRun]:
        """Return what runs wait for that the reader may see."""
        return [] if self._host is None else await self._host.waits(reader)

    async def answer(self, run_id: str, request: AnswerRequest) -> Answered:
        """Answer what a run waits for; raises `Problem`."""
        try:
            answered = await self.host.answer(run_id, request)
        except NoSuchRun:
            raise unknown_run(run_id) from None
        except AnswerRefused as refused:
            kind = f"answer-{refused.refusal.replace('_', '-')}"
            raise Problem(_REFUSED.get(refused.refusal, 409), kind, str(refused)) from None
        self._begun(run_id)
        return answered

    async def abort(self, run_id: str, reason: str, by: Principal) -> None:
        """Have a run end as aborted, wherever it is; raises `Problem`."""
        shown, reason = await self._reading.run(run_id, by), storable(reason)
        if not self.there:
            await self._abort_passing(shown, reason, by)
            return
        if shown["status"] in ENDED:
            # Its own record may be a moment behind, and would have it stopped once more.
            raise Problem(409, "has-ended", f"run {run_id!r} has ended; there is nothing to stop")
        try:
            await self.host.abort(run_id, f"aborted by {by.id}: {reason}" if reason else f"aborted by {by.id}", by.id)
        except NoSuchRun:
            await self._abort_passing(shown, reason, by)
            return
        except Unopened:
            raise
        except UsageError as error:
            raise Problem(409, "has-ended", str(error)) from None
        self._begun(run_id)

    async def _abort_passing(self, shown: JsonObject, reason: str, by: Principal) -> None:
        """End a run that is not durable, in whichever process it goes on."""
        run_id = str(shown["run_id"])
        if shown["status"] not in {"queued", "running"}:
            raise Problem(409, "has-ended", f"run {run_id!r} has ended; there is nothing to stop")
        if not await self._registry.direct(run_id, Directive(kind="abort", message=reason, by=by.id), by):
            raise Problem(409, "not-reached", f"run {run_id!r} is not durable, and its process cannot be reached")

    async def fork(self, run_id: str, at: str, by: Principal, *, new: str) -> str:
        """Start a run of somebody's with the record of another one up to a step; returns its id, raises `Problem`.

        Said again with the same `new` id, it starts nothing more.
        """
        await self._reading.run(run_id, by)
        with _on_record(run_id, "begin from"):
            return await self.host.fork(run_id, at, by, new=new)

    async def renew(self, run_id: str, by: Principal) -> None:
        """Have a run that nobody performs go on with the files as they are now; raises `Problem`."""
        shown = await self._reading.run(run_id, by)
        try:
            with _on_record(run_id, "go on from"):
                renewed = await self.host.renew(run_id, by)
        except NotRenewed as refused:
            raise Problem(409, _NOT_RENEWED[refused.refusal], str(refused)) from None
        if renewed:
            self._begun(run_id)
        elif shown["status"] in ENDED:  # its own record may be a moment behind
            raise Problem(409, "has-ended", f"run {run_id!r} has ended with the files as they are now")

    def abort_soon(self, run_id: str, reason: str, *, by: str) -> None:
        """Have a run end; a failure is logged, since nobody waits for it."""

        async def abort() -> None:
            try:
                await self.host.abort(run_id, reason, by)
            except UsageError:
                return  # it has ended meanwhile
            except (TuvlError, Problem) as error:
                _log.warning("run %s could not be aborted: %s", run_id, redact(str(error)))

        self._spawn(abort())

    async def followed(self, row: JsonObject) -> EventLog | None:
        """Return the events of a run that is on record, in whatever process they happen.

        `None` when nothing is known of them: it is no durable run, or none are kept of it.
        """
        if self._host is None or self._elsewhere is None:
            return None
        run_id, status = str(row["run_id"]), row["status"]
        log = self._logs.get(run_id)
        if log is not None and (not log.ended or _status_of(log) == status or run_id in self._host.running):
            log.asked_at = self._clock.monotonic()
            return log
        log = EventLog(run_id, clock=self._clock, everywhere=True)
        try:
            await Elsewhere(self._host, self._registry.access).look([log])
            if not log.last_seq and not await self._is_told_still(row):
                return None
        except Unopened:
            raise
        except (TuvlError, Problem):
            return None
        known = self._logs.get(run_id)
        if known is not None and not known.ended:
            return known  # it was begun to be followed meanwhile
        return self._remembered(log)

    async def _is_told_still(self, row: JsonObject) -> bool:
        """Whether events are to come of a durable run of which none are kept. Raises `Unopened` of one that goes on."""
        stopped = row.get("finished_at")
        if isinstance(stopped, str) and not self._is_just_now(datetime.fromisoformat(stopped)):
            return False
        try:
            await self.host.state(str(row["run_id"]))
        except Unopened:
            if stopped is None:
                raise
            return False  # they are kept, and not to be read here
        except UsageError:
            return False
        return True

    def _is_just_now(self, moment: datetime) -> bool:
        return abs((self._clock.now() - moment).total_seconds()) < KEPT_BY_S

    def log_of(self, run_id: str) -> EventLog:
        """Return the events of a run, those to come among them."""
        log = self._logs.get(run_id)
        return self._remembered(EventLog(run_id, clock=self._clock, everywhere=True)) if log is None else log

    def _remembered(self, log: EventLog) -> EventLog:
        self._logs[log.run_id] = log
        ended = [id for id, each in self._logs.items() if each.ended]
        for id in ended[: max(0, len(ended) - REMEMBERED)]:
            del self._logs[id]
        return log

    def _begun(self, run_id: str) -> EventLog:
        """Return where the events of a run go that begins, or goes on after an end that was none."""
        log = self._logs.get(run_id)
        if log is not None and log.ended:
            del self._logs[run_id]
        return self.log_of(run_id)

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look(self, elsewhere: Elsewhere) -> None:
        """Follow runs that go on in other processes, as long as somebody here asks for them."""
        complained = False
        while True:
            await asyncio.sleep(LOOK_S)
            here = set(self.host.running)
            others = [log for run_id, log in self._logs.items() if not log.ended and run_id not in here]
            for log in others:
                if self._clock.monotonic() - log.asked_at > UNASKED_S:
                    del self._logs[log.run_id]
            try:
                await elsewhere.look([log for log in others if log.run_id in self._logs])
                complained = False
            except (TuvlError, Problem) as error:
                if not complained:
                    _log.warning("runs of other processes cannot be followed just now: %s", type(error).__name__)
                complained = True


def _status_of(log: EventLog) -> str | None:
    """Return how a run ended, by its events."""
    finished = log.following.finished
    return None if finished is None else finished.status


@contextmanager
def _on_record(run_id: str, use: str) -> Iterator[None]:
    """Raise `Problem` for a run without a record to `use`, and for a workflow that the caller may not run."""
    try:
        yield
    except MayNotStart as error:
        raise Problem(403, "right-missing", str(error)) from None
    except NoSuchRun:
        raise Problem(409, "not-durable", f"run {run_id!r} is not durable: it has no record to {use}") from None
