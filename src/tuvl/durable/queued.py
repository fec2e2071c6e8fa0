"""DBOS on a database that many runs share: they stand in a queue, and whichever process takes one performs it.

Beside `tuvl.durable.backend`, whose rules it keeps to, the only module that imports `dbos`.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Literal, ParamSpec, TypeVar, cast

import dbos
import sqlalchemy as sa
from dbos import DBOS, DBOSClient
from dbos._dbos import _get_dbos_instance
from dbos._queue import Queue, queue_worker_thread
from dbos._serialization import DBOSPortableJSONSerializer
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from tuvl.dataclass import dataclass
from tuvl.durable.backend import APPLICATION, WORKFLOW, DbosRows, config_of, owner, registered, without_pickle
from tuvl.durable.entries import entries_of
from tuvl.durable.faults import RecordDamaged, RecordFailed
from tuvl.durable.idling import Idling, Resting
from tuvl.durable.row_table import row_table, rows_of, taken_by
from tuvl.durable.rows import PAYLOAD, RESULT
from tuvl.durable.seal_state import openable
from tuvl.durable.shared_state import DatabaseFault, SharedState
from tuvl.durable.shared_tables import PRIVATE, QUEUE, WAITING
from tuvl.durable.together import Together
from tuvl.durable.writer import RowWriter
from tuvl.errors import UsageError
from tuvl.journal import Lost
from tuvl.sealing import Keys, is_sealed
from tuvl.values import JsonObject

POLL_S = 0.1
"""Seconds between two looks at the queue."""

RARE_POLL_S = 0.5
"""Seconds between two looks at the queue of runs for this very process, where it takes those of everybody, too."""

CLOSE_S = 10.0
"""Longest wait for the threads of the queues at the end, in seconds."""

READ_AGAIN_S = 1.0
"""Seconds before the record of a run is read again that could not be read."""

_log = logging.getLogger("tuvl.durable")


class LeftToOthers(BaseException):
    """The run is not over, and goes on elsewhere or later; no `Exception`, so that it is recorded as no end."""


Given = ParamSpec("Given")
Kept = TypeVar("Kept")

Body = Callable[[str, JsonObject, DbosRows, Mapping[str, JsonObject]], Awaitable[JsonObject]]
"""Performs a run: its id, what it was started with, where its rows go, and those that are there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a run is."""

    payload: JsonObject
    state: Literal["queued", "waiting", "running", "ended"]
    executor: str | None
    output: JsonObject | None
    sealed: bool
    """Whether it was encrypted from its beginning."""
    accepted_at: datetime
    changed_at: datetime
    """When its state became another one last: its end, of one that has ended."""


class SharedRuns:
    """The runs on one database, as any process may read them and put them on the queue."""

    def __init__(self, engine: sa.Engine, schema: str | None, keys: Keys | None = None) -> None:
        """Connect to nothing yet; `keys` encrypt what is kept, and open it."""
        self.keys = keys or Keys()
        self.engine = engine
        self.schema = schema
        self.idling = Idling()
        self.state = SharedState(engine, schema, news=self.news, keys=self.keys)
        self.tell: Callable[[], None] | None = None
        """Tells other processes that there is news; where there are none, whatever happens is told here."""
        self._client: DBOSClient | None = None
        self._closed = False
        sa.event.listen(engine, "checkin", self._come_back)

    def news(self) -> None:
        """Say that a run was put on a queue, or something came that is due some time; in any thread."""
        self.idling.wake()
        if self.tell is not None:
            self.tell()

    def connect(self) -> None:
        """Make what tables are missing, and connect."""
        without_pickle()
        logging.getLogger("dbos").setLevel(logging.CRITICAL)  # what it says of failures, the run says
        self._client = DBOSClient(
            system_database_engine=self.engine,
            dbos_system_schema=self.schema or "dbos",
            serializer=DBOSPortableJSONSerializer(),
            application_name=APPLICATION,
            retry_connection_errors=False,  # whoever asks is told, and asks again
        )
        with self.state.making_tables():
            self._client._sys_db.run_migrations()
            self.state.make_tables()

    def close(self) -> None:
        """Let go of the database; threads that still ask it something have their connections until they are done."""
        self._closed = True
        if self._client is not None:
            self._client.destroy()
        self.engine.dispose()

    def _come_back(self, driver: DBAPIConnection | None, entry: ConnectionPoolEntry, *rest: object) -> None:
        """Close a connection that comes back late: nobody would, in a pool that is gone."""
        if self._closed:
            entry.invalidate()

    def enqueue(
        self,
        run_id: str,
        payload: JsonObject,
        *,
        executor: str | None = None,
        beside: Callable[[sa.Connection], None] | None = None,
    ) -> None:
        """Put a run on the queue, for one process where `executor` says so; one that is there already is left alone.

        What is done `beside` is in the same transaction.
        """
        options: dbos.EnqueueOptions = {
            "workflow_name": WORKFLOW,
            "queue_name": QUEUE if executor is None else PRIVATE + executor,
            "workflow_id": run_id,
            "app_version": str(config_of("")["application_version"]),
        }
        kept = self.keys.of(run_id).sealed(PAYLOAD, payload)

        def enqueue(connection: sa.Connection) -> None:
            self.state.marked(connection, run_id)
            if beside is not None:
                beside(connection)
            self._reached.enqueue_in_transaction(connection, options, kept)
            self.state.is_news(connection)

        self.state.in_transaction(enqueue)

    def find(self, run_id: str, *, output: bool = True) -> Standing | None:
        """Return where a run is; `None` when there is none. Raises `Unopened` for one that takes another key."""
        found = self._reached.list_workflows(workflow_ids=[run_id], load_input=True, load_output=output)
        if not found or found[0].input is None:
            return None
        (one,) = found
        kept, seal = cast(JsonObject, found[0].input["args"][0]), self.keys.of(run_id)
        ended = cast(JsonObject | None, one.output)
        if ended is not None:
            result = cast(JsonObject, ended["result"])
            ended = {**ended, "result": seal.opened(RESULT, result, must=is_sealed(kept))}
        return Standing(
            payload=seal.opened(PAYLOAD, kept),
            state=_state_of(one),
            executor=one.executor_id,
            output=ended,
            sealed=is_sealed(kept),
            accepted_at=_moment(one.created_at),
            changed_at=_moment(one.completed_at or one.updated_at),
        )

    def rows(self, run_id: str, *, sealed: bool) -> dict[str, JsonObject]:
        """Return what is recorded of a run, in order; of one that is `sealed`, each entry has to be."""
        highest, rows = rows_of(self.engine, self.schema, [run_id])[run_id]
        return entries_of(self.keys.of(run_id), run_id, rows, highest=highest, must=sealed).rows

    @property
    def _reached(self) -> DBOSClient:
        if self._client is None:
            raise RuntimeError("the runs are read before they are connected to")
        return self._client


def _state_of(one: dbos.WorkflowStatus) -> Literal["queued", "waiting", "running", "ended"]:
    match one.status:
        case "PENDING":
            return "running"
        case "ENQUEUED":
            return "waiting" if one.queue_name == WAITING else "queued"
        case _:
            return "ended"


def _moment(epoch_ms: int | None) -> datetime:
    return datetime.fromtimestamp((epoch_ms or 0) / 1000, UTC)


def _of_no_matter(app_version: str, c: sa.Connection | None = None) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What there is of a run that was taken."""

    owner: str | None
    attempt: int
    highest: int
    rows: dict[str, JsonObject]


def _found(engine: sa.Engine, schema: str | None, run_ids: Sequence[str]) -> dict[str, _Found]:
    taken, kept = taken_by(engine, schema, run_ids), rows_of(engine, schema, run_ids)
    return {
        run_id: _Found(owner=owner, attempt=attempt, highest=kept[run_id][0], rows=kept[run_id][1])
        for run_id, (owner, attempt) in taken.items()
    }


class Taker:
    """DBOS in this process, which takes runs off the queue. One in a process, in the event loop it was opened in."""

    def __init__(self, runs: SharedRuns, *, executor: str, concurrency: int, body: Body) -> None:
        self._runs = runs
        self._executor = executor
        self._concurrency = concurrency
        self._body = body
        self._queue: Queue | None = None
        self._writer = RowWriter(row_table(runs.engine, runs.schema, APPLICATION))
        self._closed = False
        self._resting = Resting(runs.idling)
        self._threads: list[threading.Thread] = []
        self._found = Together(partial(_found, runs.engine, runs.schema))

    def open(self) -> None:
        """Begin to take runs; call it inside the event loop."""
        config = config_of(self._executor)
        config["system_database_engine"] = self._runs.engine
        config["run_migrations"] = False
        if self._runs.schema is not None:
            config["dbos_system_schema"] = self._runs.schema
        DBOS(config=config)
        registered(self._perform)
        instance = _get_dbos_instance()
        instance._background_jobs_stop_event.set()  # nothing here is delayed, or has a time limit that DBOS knows
        DBOS.launch()
        for event in instance.background_thread_stop_events:
            event.set()  # of queues and schedules that DBOS keeps for itself, and that nobody uses
        state = instance._sys_db
        state.start_queued_workflows = self._runs.idling.noticing(  # type: ignore[assignment,method-assign]
            state.start_queued_workflows
        )
        state.update_workflow_outcome = self._patiently(state.update_workflow_outcome)  # type: ignore[method-assign]
        # Asked at each look at a queue, to know who takes runs without a version; ours have one.
        state._is_latest_version = _of_no_matter  # type: ignore[method-assign]
        # A run that takes a key which is not here is left alone.
        gate = [openable(self._runs.state.tables, state.tables.workflow_status, self._runs.keys)]
        state._claim_gate = lambda *about: gate  # type: ignore[method-assign]
        self._look_at_queues(instance)

    def _look_at_queues(self, instance: DBOS) -> None:
        # DBOS keeps the limits of a queue in the database, where they hold for all processes; how much a process
        # takes is its own affair, as with the queues that DBOS makes for itself.
        registry, active = instance._registry, instance._active_workflows_set
        queue = self._queue = registry._register_internal_queue(
            QUEUE, worker_concurrency=self._concurrency, polling_interval_sec=POLL_S
        )
        often = RARE_POLL_S if self._concurrency else POLL_S
        private = registry._register_internal_queue(PRIVATE + self._executor, polling_interval_sec=often)
        self._runs.idling.full = lambda: active.count_for_queue(QUEUE) >= (queue._worker_concurrency or 0) > 0
        for each in (queue, private) if self._concurrency else (private,):
            # Its own loop, over an event at which it rests as long as there is nothing.
            thread = threading.Thread(
                target=queue_worker_thread, args=(self._resting, instance, each), name=f"tuvl-{each.name}", daemon=True
            )
            thread.start()
            self._threads.append(thread)

    def _patiently(self, keep: Callable[Given, Kept]) -> Callable[Given, Kept]:
        """Have the end of a run kept whenever that can be done: DBOS gives up at once where a file is full or held."""

        def kept(*args: Given.args, **named: Given.kwargs) -> Kept:
            while True:
                try:
                    return keep(*args, **named)
                except RecordFailed as error:
                    if self._closed:
                        raise
                    _log.warning("the end of a run cannot be kept yet: %s", error.why)
                time.sleep(READ_AGAIN_S)

        return kept

    def take_new(self, wanted: bool) -> None:
        """Say whether runs are taken off the queue; a process that stops keeps those it has."""
        if self._queue is not None:
            self._queue._worker_concurrency = self._concurrency if wanted else 0

    def close(self) -> None:
        """Stop; what is still performed here goes on nowhere until somebody releases it."""
        self._closed = True
        self.take_new(False)
        self._resting.set()
        for thread in self._threads:
            thread.join(CLOSE_S)
        self._writer.close()
        DBOS.destroy(workflow_completion_timeout_sec=0)

    async def _perform(self, payload: JsonObject) -> JsonObject:
        run_id = str(DBOS.workflow_id)
        mine = owner()
        found = await self._found_of(run_id)
        if found.owner != mine:
            raise LeftToOthers  # somebody has taken it over meanwhile
        kept = found.rows
        rows = DbosRows(run_id, self._writer, owner=mine, taken=found.highest, attempt=found.attempt)
        try:
            return await self._opened(run_id, payload, rows, kept)
        except (UsageError, RecordDamaged) as error:
            _log.error("run %r is laid aside, and nobody takes it: %s", run_id, error)
            await self._done(run_id, partial(self._runs.state.lay_aside, run_id, owner=mine))
            raise LeftToOthers from None

    async def _opened(
        self, run_id: str, payload: JsonObject, rows: DbosRows, kept: Mapping[str, JsonObject]
    ) -> JsonObject:
        rows.seal = seal = self._runs.keys.of(run_id)
        rows.sealed = is_sealed(payload)
        found = entries_of(seal, run_id, kept, highest=rows.taken, must=rows.sealed)
        payload = seal.opened(PAYLOAD, payload)
        if self._runs.keys:
            await self._done(run_id, partial(self._runs.state.mark, run_id))
        if found.result is not None:
            # Its process was lost before that was its status, too; or somebody has changed that.
            return {"v": 1, "result": seal.sealed(RESULT, found.result)}
        ended = await self._body(run_id, payload, rows, found.rows)
        try:
            return {**ended, "result": await rows.end(cast(JsonObject, ended["result"]))}
        except Lost:
            raise LeftToOthers from None

    async def _done(self, run_id: str, work: Callable[[], None]) -> None:
        """Do work on the database, whenever that can be done."""
        while not self._closed:
            try:
                await asyncio.to_thread(work)
            except DatabaseFault as error:
                _log.warning("run %r waits for the database: %s", run_id, type(error).__name__)
                await asyncio.sleep(READ_AGAIN_S)
            else:
                return
        raise LeftToOthers

    async def _found_of(self, run_id: str) -> _Found:
        """Read what is recorded of a run, whenever that can be read: no fault of the database ends a run."""
        while not self._closed:
            try:
                return await self._found.about(run_id)
            except (DatabaseFault, RecordFailed) as error:
                _log.warning("run %r waits for its record: %s", run_id, type(error).__name__)
                await asyncio.sleep(READ_AGAIN_S)
        raise LeftToOthers
