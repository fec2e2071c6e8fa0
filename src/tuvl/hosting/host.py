"""`Host`: the durable runs of a project on one database, which many processes may share.

On PostgreSQL, by `TUVL_DATABASE_URL`, any number of processes on any number of machines put runs on the queue, perform
them, and take over those of a process that died. Without it there is one SQLite file, `.tuvl/host.sqlite`, and one
process at a time has it. What is promised of a run is in `docs/durable.md`.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast
from uuid import uuid4

from tuvl.analysis.steps import mapping
from tuvl.control import RunControl
from tuvl.durable.definitions import Definitions
from tuvl.durable.files import RunFiles
from tuvl.durable.inherited import has_entry, record_of, rows_of_payload
from tuvl.engine.admission import check_start, initial_context
from tuvl.errors import UsageError
from tuvl.events.sink import Sink
from tuvl.hosting.accepting import Accepting, key_of
from tuvl.hosting.answers import checked, refuse_late, refuse_too_large
from tuvl.hosting.asking import asked as _asked
from tuvl.hosting.following import Follower
from tuvl.hosting.forking import forked, visits_anew
from tuvl.hosting.listing import Listing
from tuvl.hosting.opening import executor_id, opened, require_backend
from tuvl.hosting.renewing import renew
from tuvl.hosting.requests import (
    Answered,
    AnswerRefused,
    AnswerRequest,
    NoSuchRun,
    RunState,
    StartRequest,
    WaitingRun,
)
from tuvl.hosting.started import Started, last_definition
from tuvl.hosting.waiting import keep_queued, waiting_of
from tuvl.hosting.workshop import Workshop
from tuvl.llm.pacing import Paces
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.settings import Settings
from tuvl.supervision.opening import open_registry
from tuvl.supervision.registry import RunRegistry
from tuvl.tools.approval import Approvals, AskedLater
from tuvl.values import JsonObject

if TYPE_CHECKING:
    from tuvl.durable.queued import SharedRuns, Standing
    from tuvl.durable.wait_rows import WaitRow
    from tuvl.hosting.performers import Performer
    from tuvl.hosting.scheduling import Scheduler


class Host:
    """The durable runs of a project. Made by `open`; there is one in a process, and it belongs to one event loop."""

    def __init__(
        self,
        project: ProjectIndex,
        settings: Settings,
        runs: "SharedRuns",
        accepting: Accepting,
        workshop: Workshop,
        registry: RunRegistry,
        performer: "Performer",
    ) -> None:
        """Wire it; callers use `open`."""
        self._files = RunFiles(project.state_root)
        self._definitions = Definitions(project.state_root)
        self._settings = settings
        self._runs = runs
        self._state = runs.state
        self._accepting = accepting
        self._workshop = workshop
        self._registry = registry
        self._performer = performer
        self._scheduler: Scheduler | None = None
        self.listing = Listing(runs, registry.access, self.result)
        """Has runs be on the list of runs that are on their own record alone."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        project: ProjectIndex,
        settings: Settings,
        *,
        concurrency: int,
        registry: RunRegistry | None = None,
        sinks_for: Callable[[str], Sequence[Sink]] | None = None,
        follower_for: Callable[[str], Follower] | None = None,
        control_for: Callable[[str], RunControl] | None = None,
        approvals: Approvals | None = None,
    ) -> AsyncIterator["Host"]:
        """Have the runs of a project for as long as the block runs; what still goes on at its end is left to others.

        Args:
            project: The project; what it keeps is below its `state_root`.
            settings: `database_url` says where the runs are.
            concurrency: Most runs that this process takes off the queue at a time; with 0 it takes none, and performs
                only what `start` and `take` are told to perform here.
            registry: Where runs are seen and controlled. Without one the host has its own, with every run on it.
            sinks_for: Who hears of the events of a run that is performed here, by its id.
            follower_for: Who follows a run that is performed here over all processes that have had it: what was told of
                it before, and then each event once, by numbers that go on.
            control_for: The control channel of a run that is performed here, by its id.
            approvals: Who approves calls of runs that are performed here; without it they wait for `answer`.

        Raises:
            UsageError: The extra is not installed, or another process has the file.
            ConfigError: `TUVL_DATABASE_URL` leads to no database that can be used.
        """
        require_backend()
        from tuvl.durable.call_state import CallState
        from tuvl.durable.line_state import LineState
        from tuvl.durable.schedule_state import ScheduleState
        from tuvl.hosting.event_keeping import EventKeeper
        from tuvl.hosting.hearing import Hearing
        from tuvl.hosting.performers import Performer
        from tuvl.hosting.scheduling import scheduling
        from tuvl.hosting.shared_paces import SharedPaces

        shown = registry or open_registry(str(project.state_root), settings, every_run=True)
        performer = Performer(
            executor=executor_id(),
            concurrency=concurrency,
            sinks_for=sinks_for or _nobody,
            control_for=control_for or (lambda _: RunControl(pause_max_s=settings.agent_pause_max_s)),
            approvals=approvals or AskedLater(),
        )
        try:
            async with opened(project, settings, performer.executor, performer.hears) as runs:
                state = runs.state
                paces = SharedPaces(CallState(state))
                shop = Workshop(
                    project, settings, shown, paces=paces, keep=state.keep_definition, fetch=state.definition
                )
                try:
                    hears = EventKeeper.open(shown.access)
                    async with hears as keeper, performer.performing(runs, shop, shown, Hearing(keeper, follower_for)):
                        accepting = Accepting(runs, LineState(state), shown, performer)
                        host = cls(project, settings, runs, accepting, shop, shown, performer)
                        if not concurrency:
                            yield host
                            return
                        schedules = ScheduleState(state)
                        async with scheduling(project.root, schedules, host.start) as host._scheduler:
                            yield host
                finally:
                    await shop.aclose()
        finally:
            if registry is None:
                await shown.aclose()

    # ---- starting, waiting ------------------------------------------------------------------------------------------

    async def start(self, request: StartRequest, *, here: bool = False) -> str:
        """Start a run, and return its id: it is accepted and on record, and is performed whatever becomes of us.

        One of the same id or key is attached to, and nothing is started anew. With `here` this process performs it,
        whatever its concurrency, unless it dies before.

        Raises `UsageError` for a workflow that there is not or that the principal may not run, `InputError` for an
        input that does not fit, `ConfigError` for a workflow with mistakes; nothing is kept then.
        """
        known = await self._known(request)
        if known is not None:
            return known
        async with self._workshop.current(request.workflow, request.models) as prepared:
            check_start(prepared.plan, request.principal)
            initial_context(prepared.plan, request.input)
            started = Started(
                workflow=prepared.plan.workflow,
                definition=prepared.definition,
                input=request.input,
                models=dict(request.models),
                principal=request.principal,
                timeout_s=request.timeout_s,
                trace=request.trace,
                schema_version=prepared.plan.schema_version,
            )
            plan = prepared.plan
        run_id = request.run_id or uuid4().hex
        if request.key is not None:
            run_id = await _asked(self._state.claim_key, key_of(request), run_id)
        await self._accepting.accept(run_id, started, started.to_json(), plan, here=here)
        return run_id

    async def freeze(self, workflows: Collection[str]) -> None:
        """Have workflows be started as their files are now, however those change."""
        await self._workshop.freeze(workflows)

    async def still_used(self) -> None:
        """Keep that the definitions which this process works with are of use, so that nobody takes them away."""
        digests = self._workshop.in_use
        for digest in digests:
            await asyncio.to_thread(self._definitions.still_used, digest)
        await _asked(self._state.still_used, digests)

    async def end_unqueued(self) -> None:
        """End on record, as failed, what is queued there and on no queue, and so is nowhere. Raises `TuvlError`."""
        await self._accepting.end_unqueued()

    async def _known(self, request: StartRequest) -> str | None:
        run_id = request.run_id
        if run_id is not None:
            self._files.database(run_id)  # refuses what is no id
        if request.key is not None:
            of_key = await _asked(self._state.run_of_key, key_of(request))
            if of_key is not None and run_id not in (None, of_key):
                raise UsageError(f"the key was used for another run, {of_key!r}")
            run_id = of_key or run_id
        if run_id is None:
            return None
        standing = await _asked(self._runs.find, run_id, output=False)
        if standing is None:
            return None
        if not request.principal.may_see(Started.of(standing.payload).principal.tenant):
            raise UsageError(f"the id {run_id!r} is taken; let one be made")
        return run_id

    async def result(self, run_id: str) -> JsonObject | None:
        """Return the result document of a run that has ended, or that waits for somebody; `None` while it goes on.

        Raises `NoSuchRun`.
        """
        standing = await self._standing(run_id)
        if standing.state == "waiting":
            waits = await _asked(self._state.waits_of, run_id, sealed=standing.sealed)
            return next((wait.document for wait in waits if wait.answered_at is None), None)
        if standing.state != "ended":
            return None
        return (
            _without_result(run_id, standing)
            if standing.output is None
            else cast(JsonObject, standing.output["result"])
        )

    async def wait(self, run_id: str, timeout_s: float | None = None) -> JsonObject | None:
        """Wait until a run has ended or waits for somebody, and return its document; `None` after `timeout_s` seconds.

        Raises `NoSuchRun`.
        """
        await self._standing(run_id)
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    await self._performer.settled(run_id)
                    found = await self.result(run_id)
                    if found is not None:
                        return found
        except TimeoutError:
            return None

    async def take(self, run_id: str, *, waiting: bool = False) -> bool:
        """Have this process perform a run that nobody has just now; `False` when somebody has it, or it has ended.

        With `waiting`, one that waits is taken up too, and waits again when there is no answer. Raises `NoSuchRun`.
        """
        standing = await self._standing(run_id)
        if await _asked(self._state.lacks_key, run_id):
            # Which of it cannot be opened, opening it says; where all can, what it was marked with is of no matter.
            await self.kept(run_id)
            await _asked(self._state.waits_of, run_id, sealed=standing.sealed)
            await _asked(self._state.all_opened, run_id)
        await self._performer.open()
        self._runs.idling.wake()
        return await _asked(self._state.take, run_id, self._performer.executor, waiting=waiting)

    async def kept(self, run_id: str) -> tuple[Started, dict[str, JsonObject]]:
        """Return what a run was started with, and what is recorded of it, in order. Raises `NoSuchRun`."""
        standing = await self._standing(run_id)
        return Started.of(standing.payload), await self._record(run_id, standing)

    async def settled(self, run_ids: Sequence[str]) -> set[str]:
        """Return which of these runs have ended, or wait for somebody."""
        return await _asked(self._state.settled, run_ids)

    async def state(self, run_id: str) -> RunState:
        """Return where a run is. Raises `NoSuchRun`."""
        return (await self._standing(run_id)).state

    # ---- people -----------------------------------------------------------------------------------------------------

    async def waits(self, reader: Principal) -> list[WaitingRun]:
        """Return what runs wait for that the reader may see, the oldest first."""
        found = await _asked(self._state.open_waits)
        return [waiting_of(wait) for wait in found if reader.may_see(wait.tenant)]

    async def answer(self, run_id: str, request: AnswerRequest) -> Answered:
        """Answer what a run waits for; it goes on at once, in whichever process takes it.

        Of several answers the first one counts. Raises `AnswerRefused` for one that does not count, which says why, and
        `NoSuchRun`.
        """
        store = self._registry.access.store
        since = await store.suspended_since(run_id)  # before that is looked at for which it waits
        wait, started = await self._asked(run_id, request)
        refuse_late(wait)
        value = checked(wait.kind, wait.asked, request.value, request.by, started.also_requested_by)
        _, record = await self.kept(run_id)
        async with self._workshop.of(last_definition(record, started)) as prepared:
            most = prepared.plan.limits.max_context_bytes
        refuse_too_large(value, mapping(wait.document.get("context")), most)
        at = time.time()
        if not await _asked(self._state.answer, wait, value, by=request.by.id, at=at):
            refuse_late((await self._asked(run_id, request))[0])
            raise AnswerRefused(f"run {run_id!r} waits for this no more", "not_waiting")
        await keep_queued(store, run_id, since=since)
        self._runs.idling.wake()
        return Answered(run_id=run_id, by=request.by.id, at=datetime.fromtimestamp(at, UTC))

    async def _asked(self, run_id: str, request: AnswerRequest) -> "tuple[WaitRow, Started]":
        standing = await self._standing(run_id)
        started = Started.of(standing.payload)
        if not request.by.may_see(started.principal.tenant):
            raise _no_such_run(run_id)
        waits = await _asked(self._state.waits_of, run_id, sealed=standing.sealed)
        for wait in waits:
            if wait.digest == request.digest:
                return wait, started
        if any(wait.answered_at is None for wait in waits):
            raise AnswerRefused(
                f"run {run_id!r} asks something else by now; look at what it waits for", "other_question"
            )
        raise AnswerRefused(f"run {run_id!r} waits for nothing", "not_waiting")

    # ---- stopping, forking, leaving ---------------------------------------------------------------------------------

    async def abort(self, run_id: str, reason: str, by: str) -> None:
        """Have a run end as aborted, wherever it is; the steps routed from `aborted` still run.

        It is kept until that is done, whatever becomes of processes. Raises `NoSuchRun`, and `UsageError` for a run
        that has ended.
        """
        standing = await self._standing(run_id)
        if standing.state == "ended":
            raise UsageError(f"run {run_id!r} has ended; there is nothing to stop")
        await _asked(self._state.abort, run_id, reason, by=by, at=time.time())
        self._performer.abort(run_id, reason, by=by)
        self._runs.idling.wake()

    async def fork(self, run_id: str, at: str, by: Principal, *, here: bool = False, new: str | None = None) -> str:
        """Start a run with the record of another one up to the first visit of a step, and return its id.

        It has the input and the definition of that one, and is a run of whoever forks. With the id `new` it is made
        once, however often that is said. Raises `NoSuchRun`, and `UsageError` for a step that the run has not come to
        or a workflow that the principal may not run.
        """
        standing = await self._standing(run_id)
        if not by.may_see(Started.of(standing.payload).principal.tenant):
            raise _no_such_run(run_id)
        record = await self._record(run_id, standing)
        anew = None
        if not has_entry(standing.payload, record, at):
            come_to = last_definition(record, Started.of(standing.payload))
            async with self._workshop.of(come_to) as prepared:
                check_start(prepared.plan, by)
                anew = await visits_anew(prepared.engine, prepared.plan, come_to, run_id, record, at)
        payload = forked(standing.payload, record, at, by, anew)
        started = Started.of(payload)
        async with self._workshop.of(last_definition(rows_of_payload(payload), started)) as prepared:
            plan = prepared.plan
            check_start(plan, by)
        await self.still_used()  # also where it was last of use long before the fork begins
        new = new or uuid4().hex
        await self._accepting.accept(new, started, payload, plan, here=here)
        return new

    async def renew(self, run_id: str, by: Principal) -> bool:
        """Have a run go on with the files as they are now, in whichever process takes it; `False` where it does so.

        Raises `NoSuchRun`, and what `tuvl.hosting.renewing.renew` raises.
        """
        standing = await self._standing(run_id)
        if not by.may_see(Started.of(standing.payload).principal.tenant):
            raise _no_such_run(run_id)
        return await renew(self._runs, self._workshop, run_id, standing, store=self._registry.access.store)

    async def drain(self, timeout_s: float) -> int:
        """Take no new runs, and leave those that go on here to others, each after what it is doing just now.

        Returns how many still go on after `timeout_s` seconds; they are cut off when the host is closed.
        """
        if self._scheduler is not None:
            await self._scheduler.stop()
        return await self._performer.drain(timeout_s)

    @property
    def paces(self) -> Paces:
        """Where the rate limits of models are kept, for runs of this process that are not durable."""
        return self._workshop.paces

    @property
    def executor(self) -> str:
        """What marks the runs of this process: host, process id, and a number of its own."""
        return self._performer.executor

    @property
    def running(self) -> list[str]:
        """Ids of the runs that are performed in this process just now."""
        return self._performer.running

    async def _standing(self, run_id: str) -> "Standing":
        self._files.database(run_id)  # refuses what is no id
        standing = await _asked(self._runs.find, run_id)
        if standing is None:
            raise _no_such_run(run_id)
        return standing

    async def _record(self, run_id: str, standing: "Standing") -> dict[str, JsonObject]:
        return record_of(standing.payload, await _asked(self._runs.rows, run_id, sealed=standing.sealed))


def _without_result(run_id: str, standing: "Standing") -> JsonObject:
    """Return a document for a run that ended outside of tuvl, by an administrator of the database for one."""
    started = Started.of(standing.payload)
    message = "the run was ended in the database, and left no result"
    error: JsonObject = {"type": "no_result", "message": message, "step": None, "detail": {}}
    return {"run_id": run_id, "workflow": started.workflow, "status": "failed", "signal": None, "error": error}


def _nobody(run_id: str) -> Sequence[Sink]:
    return ()


def _no_such_run(run_id: str) -> NoSuchRun:
    return NoSuchRun(f"there is no durable run {run_id!r} in this database; see `tuvl runs list`")
