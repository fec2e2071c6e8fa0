"""DBOS, behind the record: one generic workflow for every run, its steps the rows of the record.

The only module that imports `dbos`. It keeps to seven rules, each of which answers something that was seen to go wrong:
the version of the application is ours; rows are JSON and nothing is ever unpickled; the SQLite engine is ours; a file
belongs to one process; a row is found by its name, never by its number; an abort is something the run obeys; nothing
polls for messages.
"""

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, cast

import dbos
import sqlalchemy as sa
from dbos import DBOS, DBOSClient, DBOSConfig, SetWorkflowID
from dbos._serialization import DBOSDefaultSerializer, DBOSPortableJSONSerializer

from tuvl.dataclass import dataclass
from tuvl.durable.faults import RecordFailed
from tuvl.durable.rows import APPLICATION_VERSION
from tuvl.durable.sqlite_file import open_sqlite
from tuvl.values import JsonObject

WORKFLOW = "tuvl.run"
APPLICATION = "tuvl"
_THREADS = 16
_MOST_RECOVERIES = 1_000_000
"""A run is taken up as often as its processes die; whoever watches it decides when that is enough."""

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
        rows = {step["function_name"]: cast(JsonObject, step["output"]) for step in client.list_workflow_steps(run_id)}
        return Kept(payload=cast(JsonObject, found[0].input["args"][0]), rows=rows)
    finally:
        client.destroy()
        engine.dispose()


class DbosRows:
    """The rows of one run, as steps of its workflow; made and used inside of that."""

    def __init__(self, taken: int) -> None:
        # Numbers already taken are passed over; a row is found by its name.
        self._next = DBOS.reserve_step()
        while self._next.step_id <= taken:
            self._next = DBOS.reserve_step()

    async def put(self, name: str, row: JsonObject) -> None:
        """Keep a row; raises `EngineError` when it cannot be kept, or this process has lost the run."""
        reserved, self._next = self._next, DBOS.reserve_step()
        try:
            await reserved.run_async({"name": name}, partial(self._write, name, row))
        except sa.exc.SQLAlchemyError as error:
            raise RecordFailed(type(getattr(error, "orig", None) or error).__name__) from error

    def _write(self, name: str, row: JsonObject) -> JsonObject:
        """Return what is kept; called when it is, and not where a row of that number is there already."""
        return row


class Backend:
    """DBOS on one database. There is one in a process at a time, and it belongs to the event loop it was opened in."""

    def __init__(self, config: DBOSConfig, body: Body) -> None:
        self._config = config
        self._body = body
        self._left = False
        self._performed: asyncio.Future[None] | None = None

    @classmethod
    def on_file(cls, path: str, body: Body) -> "Backend":
        """Return the backend of one run's own file, which the caller has locked."""
        return cls({**config_of("file"), "system_database_engine": open_sqlite(path)}, body)

    def open(self) -> None:
        """Open the database, and take up what this executor has left; call it inside the event loop."""
        without_pickle()
        logging.getLogger("dbos").setLevel(logging.CRITICAL)  # what it says of failures, the run says
        DBOS(config=self._config)

        @DBOS.workflow(name=WORKFLOW, max_recovery_attempts=_MOST_RECOVERIES)
        async def run(payload: JsonObject) -> JsonObject:
            return await self._perform(payload)

        self._workflow = run
        DBOS.launch()

    def close(self) -> None:
        """Let go of the database."""
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
            return

    async def take_up(self, run_id: str) -> None:
        """Wait for a run that opening the backend has taken up to end, or to be left."""
        if self._performed is None:
            self._performed = asyncio.get_running_loop().create_future()
        await self._performed
        if not self._left:
            # Its end is written by whoever called the workflow, a moment later.
            handle: dbos.WorkflowHandleAsync[JsonObject] = await DBOS.retrieve_workflow_async(run_id)
            await handle.get_result(polling_interval_sec=0.02)

    async def _perform(self, payload: JsonObject) -> JsonObject:
        run_id = str(DBOS.workflow_id)
        if self._performed is None:
            self._performed = asyncio.get_running_loop().create_future()
        try:
            taken, found = await found_rows(run_id)
            return await self._body(run_id, payload, DbosRows(taken), found)
        except LeftOpen:
            self._left = True
            raise
        finally:
            self._performed.set_result(None)


async def found_rows(run_id: str) -> tuple[int, dict[str, JsonObject]]:
    """Return the highest number taken by a row of a run, and its rows by their names."""
    # Asked from outside of the workflow, so that the question is no step of it.
    outside = contextvars.Context()
    ask = partial(outside.run, DBOS.list_workflow_steps, run_id)
    steps = await asyncio.get_running_loop().run_in_executor(None, ask)
    found = {step["function_name"]: cast(JsonObject, step["output"]) for step in steps}
    return max((step["function_id"] for step in steps), default=0), found


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
    }
