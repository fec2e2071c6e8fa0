"""Accepts runs: what it takes to perform one is kept in one transaction, before anybody hears that there is one.

The store of runs, where people look, hears of it afterwards. A process that dies in between leaves a run that whoever
takes it, or asks for it, puts on record there; one that dies before leaves nothing.
"""

import logging
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from tuvl.errors import StepError
from tuvl.hosting.asking import asked
from tuvl.hosting.listing import row_of
from tuvl.hosting.requests import StartRequest
from tuvl.hosting.started import Started
from tuvl.plan.model import ExecutionPlan
from tuvl.redaction import redact
from tuvl.supervision.lost import end_unqueued
from tuvl.supervision.registry import RunRegistry
from tuvl.values import JsonObject, canonical

if TYPE_CHECKING:
    from tuvl.durable.line_state import LineState
    from tuvl.durable.queued import SharedRuns
    from tuvl.hosting.performers import Performer

_log = logging.getLogger("tuvl.hosting")


class Accepting:
    """Puts runs on the queue of one database."""

    def __init__(self, runs: "SharedRuns", lines: "LineState", registry: RunRegistry, performer: "Performer") -> None:
        self._runs = runs
        self._lines = lines
        self._registry = registry
        self._performer = performer

    async def accept(
        self, run_id: str, started: Started, payload: JsonObject, plan: ExecutionPlan, *, here: bool
    ) -> None:
        """Accept a run, to be performed `here` or by anybody; when this raises, there is no such run."""
        row = replace(row_of(run_id, started, at=datetime.now(UTC)), schema_version=plan.schema_version)
        await self._registry.access.ready()
        executor = None
        if here:
            await self._performer.open()
            executor = self._performer.executor
        most = plan.limits.concurrency
        standing = None if most is None else partial(self._lines.stand, run_id, plan.workflow, most)
        await asked(self._runs.enqueue, run_id, payload, executor=executor, beside=standing)
        try:
            await self._registry.access.store.queued(row)
        except StepError as error:
            # It is accepted all the same; whoever takes it keeps that it began.
            _log.warning("run %r is on the queue, and not on the list of runs yet: %s", run_id, redact(error.message))

    async def end_unqueued(self) -> None:
        """End, on record, runs that are queued there and on no queue: their process died while it accepted them.

        Raises `TuvlError`.
        """
        from tuvl.durable.queue_state import QueueState  # it imports SQLAlchemy

        async def on_queue(run_ids: Collection[str]) -> Collection[str]:
            return await asked(QueueState(self._runs.state).known, run_ids)

        for run in await end_unqueued(self._registry.access, on_queue, at=datetime.now(UTC)):
            _log.warning("run %s of %r was lost before it was on the queue", run.run_id, run.workflow)


def key_of(request: StartRequest) -> str:
    """Return under which name the key of a start is kept: each tenant has keys of its own."""
    return canonical([request.principal.tenant, request.key])
