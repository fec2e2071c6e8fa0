"""Has durable runs on the list of runs, where people look, by their own record.

Whoever accepts a run puts it there as soon as it is on the queue, and may die before that, or not have come to it yet.
"""

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING

from tuvl.data.run_records import StoreAccess
from tuvl.data.run_rows import RunRow
from tuvl.data.sealed_words import kept_result
from tuvl.errors import StepError, UsageError
from tuvl.hosting.asking import asked
from tuvl.hosting.started import Started
from tuvl.principal import ANY, Principal
from tuvl.redaction import redact
from tuvl.sealing import Unopened
from tuvl.values import JsonObject

if TYPE_CHECKING:
    from tuvl.durable.queued import SharedRuns, Standing

GOES_ON = ("queued", "running")
"""Where a run is that neither has ended nor waits for somebody."""

_AT_ONCE = 200
"""Runs that are looked for on the list together."""

_EVERYBODY = Principal(scopes=frozenset({ANY}))

Documents = Callable[[str], Awaitable[JsonObject | None]]
"""Gives the document of a run that has ended, or waits for somebody."""

_log = logging.getLogger("tuvl.hosting")


class Listing:
    """Finds the runs of one database that are not on the list, and puts them there."""

    def __init__(self, runs: "SharedRuns", access: StoreAccess, documents: Documents) -> None:
        self._runs = runs
        self._access = access
        self._documents = documents

    async def shown(self, run_id: str, reader: Principal) -> JsonObject | None:
        """Have a run be on the list, and return it as that shows it.

        `None` when there is none that the reader may see. Raises `Unopened` for one that takes another key, and
        `DatabaseAway`.
        """
        try:
            standing = await asked(self._runs.find, run_id)
            started = None if standing is None else Started.of(standing.payload)
        except Unopened:
            if ANY in reader.scopes:
                raise
            return None  # nobody can tell here whose it is
        except UsageError:
            return None  # of another version, which alone knows whose it is
        if standing is None or started is None or not reader.may_see(started.principal.tenant):
            return None
        row = row_of(run_id, started, at=standing.accepted_at)
        try:
            await self._list(row, standing)
            return await self._access.store.show(run_id, reader)
        except StepError as error:
            if standing.state not in GOES_ON:
                raise
            _log.warning("run %r is on its record, and not on the list of runs yet: %s", run_id, redact(error.message))
            return _unlisted(row, standing)

    async def _list(self, row: RunRow, standing: "Standing") -> None:
        store = self._access.store
        document = None if standing.state in GOES_ON else await self._documents(row.run_id)
        if document is None:
            await store.queued(row)
            return
        signal = document["signal"]
        await store.ready()
        await store.lost.add(
            row,
            status=str(document["status"]),
            signal=None if signal is None else str(signal),
            at=standing.changed_at,
            result=kept_result(row.run_id, document, self._access.keys),
        )

    async def list_queued(self) -> None:
        """Have all runs be on the list that no process has taken. Raises `TuvlError`."""
        from tuvl.durable.queue_state import QueueState  # it imports SQLAlchemy

        queue, after = QueueState(self._runs.state), ""
        while ids := await asked(queue.queued, after=after, limit=_AT_ONCE):
            after = ids[-1]
            for run_id in sorted(set(ids) - await self._access.store.retention.known(ids)):
                await self._find(run_id)

    async def _find(self, run_id: str) -> None:
        try:
            found = await self.shown(run_id, _EVERYBODY)
        except Unopened:
            return  # whoever has its key lists it
        if found is not None:
            _log.info("run %r is on the list of runs, where whoever accepted it had not put it", run_id)


def row_of(run_id: str, started: Started, *, at: datetime) -> RunRow:
    """Return what the list of runs keeps of a run that was accepted at a moment."""
    return RunRow(
        run_id=run_id,
        workflow=started.workflow,
        schema_version=started.schema_version,
        principal=started.principal,
        started_at=at,
    )


def _unlisted(row: RunRow, standing: "Standing") -> JsonObject:
    """Show a run as the list would."""
    return {
        "run_id": row.run_id,
        "workflow": row.workflow,
        "schema_version": row.schema_version,
        "status": standing.state,
        "signal": None,
        "principal": row.principal.id,
        "tenant": row.principal.tenant,
        "started_at": row.started_at.isoformat(),
        "finished_at": None,
        "duration_ms": None,
        "usage": None,
        "error": None,
        "result": None,
        "conversations": [],
    }
