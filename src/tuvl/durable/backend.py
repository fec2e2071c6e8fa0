"""DBOS, behind the record: one generic workflow for every run, its steps the rows of the record.

The only module that imports `dbos`. It keeps to seven rules, each of which answers something that was seen to go wrong:
the version of the application is ours; rows are JSON and nothing is ever unpickled; the SQLite engine is ours; a file
belongs to one process; a row is found by its name, never by its number; an abort is something the run obeys; nothing
polls for messages.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar, cast

import dbos
import sqlalchemy as sa
from dbos import DBOS, DBOSClient, DBOSConfig, SetWorkflowID
from dbos._context import get_local_dbos_context
from dbos._serialization import DBOSDefaultSerializer, DBOSPortableJSONSerializer
from dbos._utils import INTERNAL_QUEUE_NAME

from tuvl.dataclass import dataclass
from tuvl.durable.faults import RecordFailed
from tuvl.durable.row_table import row_table, rows_of, text_of
from tuvl.durable.rows import APPLICATION_VERSION, RESULT, row_of
from tuvl.durable.sqlite_file import open_sqlite
from tuvl.durable.writer import NewRow, Numbering, RowWriter
from tuvl.journal import Lost
from tuvl.racing import unless
from tuvl.sealing import Seal
from tuvl.values import JsonObject

WORKFLOW = "tuvl.run"
APPLICATION = "tuvl"
_THREADS = 16
_MOST_RECOVERIES = 1_000_000
"""A run is taken up as often as its processes die; whoever watches it decides when that is enough."""

_TAKE_UP_S, _TAKEN_S = 0.02, 60.0
"""How often it is looked for a run to take up, in seconds, and once it is: there is no other one in its file."""

Body = Callable[[str, JsonObject, "DbosRows", Mapping[str, JsonObject]], Awaitable[JsonObject]]
"""Performs a run: its id, what it was started with, where its rows go, and those that are there."""


class LeftOpen(BaseException):
    """The run is not over: nothing of it is to be recorded as its end. No `Exception`, so that no layer records it."""


def _refuse_pickle(*args: object) -> Any:
    raise TypeError("a row of the record is not JSON; nothing in it is unpickled")


def without_pickle() -> None:
    """Have nothing that is kept unpickled, whatever a row says of itself."""
    # Rows say how they are written, and DBOS would unpickle one that says so, whatever serializer is set.
    for name in ("serialize", "deserialize"):
        setattr(DBOSDefaultSerializer, name, _refuse_pickle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is kept of a run."""

    payload: JsonObject
    rows: dict[str, JsonObject]
    highest: int
    """Number of the last one."""
    ended: bool = False
    """Whether the run has come to its end, so that it is only told again."""


def read(path: str, run_id: str) -> Kept | None:
    """Read what a file keeps of a run, and leave the run where it is; `None` when nothing is kept of it."""
    without_pickle()
    logging.getLogger("dbos").setLevel(logging.CRITICAL)
    engine = open_sqlite(path)
    client = DBOSClient(
        system_database_engine=engine, serializer=DBOSPortableJSONSerializer(), application_name=APPLICATION
    )
    try:
        found = client.list_workflows(workflow_ids=[run_id], load_input=True, load_output=False)
        if not found or found[0].input is None:
            return None
        highest, rows = rows_of(engine, None, [run_id])[run_id]
        return Kept(payload=cast(JsonObject, found[0].input["args"][0]), rows=rows, highest=highest)
    finally:
        client.destroy()
        engine.dispose()


class DbosRows:
    """The rows of one run, kept as steps of its workflow for as long as the run is this process's."""

    def __init__(self, run_id: str, writer: RowWriter, *, owner: str, taken: int, attempt: int = 1) -> None:
        """Number rows from `taken` on; one is found by its name."""
        self.attempt = attempt
        """How often the run was taken off a queue, in all processes, this time included."""
        self.owner = owner
        """What marks the run as this process's."""
        self._run_id = run_id
        self._writer = writer
        self.taken = taken
        """Number of the last row that was there."""
        self._numbers = Numbering(taken)
        self.seal: Seal | None = None
        """What encrypts them, where anything does."""
        self.sealed = False
        """Whether all that is kept of the run is encrypted."""

    async def put(self, name: str, row: JsonObject) -> None:
        """Keep a row; raises `EngineError` when it cannot be kept, `Lost` when another process has the run by now."""
        seal = self.seal

        def text(number: int) -> str:
            return text_of(row if seal is None else seal.sealed(name, row, number=number))

        new = NewRow(
            run_id=self._run_id,
            owner=self.owner,
            name=name,
            text=text,
            at=int(time.time() * 1000),
            numbers=self._numbers,
        )
        if not await self._writer.put(new):
            raise Lost

    async def end(self, result: JsonObject) -> JsonObject:
        """Return what is kept as the end of the run, which is on record first where it is encrypted."""
        if self.seal is None or not self.seal.seals:
            return result
        with suppress(RecordFailed):  # what cannot be kept there may still be kept as the end of the run
            await self.put(RESULT, row_of(result, 0.0))
        return self.seal.sealed(RESULT, result)


_PUT_BACK = """
UPDATE workflow_status SET status = 'ENQUEUED', owner_xid = NULL, started_at_epoch_ms = NULL, queue_name = :queue
WHERE workflow_uuid = :run AND status = 'PENDING'"""
"""As DBOS does it when it finds what its process has left: of a fault it would say nothing there."""

Given = ParamSpec("Given")
Written = TypeVar("Written")

Performs = Callable[[JsonObject], Coroutine[Any, Any, JsonObject]]


def registered(perform: Performs) -> Performs:
    """Make known to DBOS what performs a run; in one place, since it takes no workflow of one name from two."""

    @DBOS.workflow(name=WORKFLOW, max_recovery_attempts=_MOST_RECOVERIES)
    async def run(payload: JsonObject) -> JsonObject:
        return await perform(payload)

    return run


def owner() -> str:
    """Return what marks the run as this process's; asked inside of its workflow."""
    context = get_local_dbos_context()
    return str(None if context is None else context.owner_xid)


class Backend:
    """DBOS on one database. There is one in a process at a time, and it belongs to the event loop it was opened in."""

    def __init__(self, engine: sa.Engine, body: Body) -> None:
        self._engine = engine
        self._body = body
        self._writer = RowWriter(row_table(engine, None, APPLICATION))
        self._left = False
        self._failed: Exception | None = None
        self._performing = False
        self._performed = asyncio.Event()
        self._at_fault = asyncio.Event()

    @classmethod
    def on_file(cls, path: str, body: Body) -> "Backend":
        """Return the backend of one run's own file, which the caller has locked."""
        return cls(open_sqlite(path), body)

    def open(self, *, again: str | None = None) -> None:
        """Open the database, and take up that run `again`; call it inside the event loop.

        Raises `RecordFailed` when that cannot be written.
        """
        without_pickle()
        logging.getLogger("dbos").setLevel(logging.CRITICAL)  # what it says of failures, the run says
        config = config_of("file")
        config["system_database_engine"] = self._engine
        instance = DBOS(config=config)
        self._workflow = registered(self._perform)
        if again is not None:
            with self._engine.begin() as connection:
                connection.execute(sa.text(_PUT_BACK), {"queue": INTERNAL_QUEUE_NAME, "run": again})
        # There it stays when the process is lost just then.
        self._queue = instance._registry._register_internal_queue(INTERNAL_QUEUE_NAME, polling_interval_sec=_TAKE_UP_S)
        DBOS.launch()
        state = instance._sys_db
        take, end = self._telling(state.start_queued_workflows), self._telling(state.update_workflow_outcome)
        state.start_queued_workflows = take  # type: ignore[method-assign]
        state.update_workflow_outcome = end  # type: ignore[method-assign]

    def _telling(self, write: Callable[Given, Written]) -> Callable[Given, Written]:
        """Have whoever waits for the run hear that DBOS could not take it, or end it: it says so to nobody."""
        loop = asyncio.get_running_loop()

        def told(*args: Given.args, **named: Given.kwargs) -> Written:
            try:
                return write(*args, **named)
            except RecordFailed as error:
                if not self._performing:
                    self._failed = error
                    loop.call_soon_threadsafe(self._at_fault.set)
                raise

        return told

    def close(self) -> None:
        """Let go of the database."""
        self._writer.close()
        DBOS.destroy(workflow_completion_timeout_sec=0)

    async def status(self, run_id: str) -> "dbos.WorkflowStatus | None":
        """Return what is known of a run's workflow; `None` when there is none."""
        return await DBOS.get_workflow_status_async(run_id)

    async def start(self, run_id: str, payload: JsonObject) -> None:
        """Run to the end, or to where it is left."""
        with SetWorkflowID(run_id):
            handle = await DBOS.start_workflow_async(self._workflow, payload)
        try:
            await handle.get_result()
        except LeftOpen:
            if self._failed is not None:
                raise self._failed from None

    async def take_up(self, run_id: str) -> None:
        """Wait for a run that opening the backend has taken up to end, or to be left; raises `RecordFailed`."""
        await self._without_fault(self._performed.wait())
        if not self._left:
            # Its end is written by whoever called the workflow, a moment later.
            handle: dbos.WorkflowHandleAsync[JsonObject] = await DBOS.retrieve_workflow_async(run_id)
            await self._without_fault(handle.get_result(polling_interval_sec=0.02))

    async def _without_fault(self, waited: Coroutine[Any, Any, object]) -> None:
        """Wait for something, or for a fault that keeps it from happening."""
        await unless(waited, self._at_fault.wait())
        if self._failed is not None:
            raise self._failed

    async def _perform(self, payload: JsonObject) -> JsonObject:
        run_id = str(DBOS.workflow_id)
        self._queue._polling_interval_sec = _TAKEN_S
        self._performing = True
        try:
            mine = owner()
            taken, rows = await self._rows_of(run_id)
            return await self._body(run_id, payload, DbosRows(run_id, self._writer, owner=mine, taken=taken), rows)
        except LeftOpen:
            self._left = True
            raise
        finally:
            self._performing = False
            self._performed.set()

    async def _rows_of(self, run_id: str) -> tuple[int, dict[str, JsonObject]]:
        try:
            found = await asyncio.to_thread(rows_of, self._engine, None, [run_id])
        except (sa.exc.SQLAlchemyError, RecordFailed) as error:
            self._failed = error
            raise LeftOpen from None  # as the end of the run it would be recorded
        return found[run_id]


def config_of(executor: str) -> DBOSConfig:
    """Return how DBOS is set up, but for its database."""
    return {
        "name": APPLICATION,
        "application_version": APPLICATION_VERSION,
        "executor_id": executor,
        "serializer": DBOSPortableJSONSerializer(),
        "log_level": "CRITICAL",
        "max_executor_threads": _THREADS,
        "enable_otlp": False,
        # Nothing is sent or received: no connection waits for it, and the thread that looks holds up no end for long.
        "use_listen_notify": False,
        "notification_listener_polling_interval_sec": 0.1,
    }
