"""Ends, on record, runs that are not durable and whose process has died without a word: who waits for them is told."""

import asyncio
import logging
from collections.abc import Callable, Collection

from tuvl.clock import Clock
from tuvl.data.run_records import StoreAccess
from tuvl.data.run_rows import LostRun
from tuvl.engine.result import RunError, RunResult, Usage
from tuvl.errors import TuvlError
from tuvl.redaction import redact

LOOK_S = 5.0
"""Seconds between two looks; a run that is lost at both of them is ended."""

MESSAGE = (
    "the process that had the run is gone, and the run with it: what it did until then took place, and nothing says "
    "how far it came"
)

_log = logging.getLogger("tuvl.server")


class LostRuns:
    """Looks for them, for all servers on one store."""

    def __init__(self, access: StoreAccess, *, here: Callable[[], Collection[str]], clock: Clock) -> None:
        """Wire it; `here` gives the ids of the runs of this process, which are not lost whatever the store says."""
        self._access = access
        self._here = here
        self._clock = clock
        self._suspected: set[str] = set()
        self._watching: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to look, and go on until it is closed."""
        self._watching = asyncio.create_task(self._watch(), name="tuvl-lost-runs")

    async def aclose(self) -> None:
        """Stop looking."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def look(self) -> list[str]:
        """Look once; returns the ids of the runs that have been ended.

        A process that could not reach the store for a while gives a sign of life as soon as it can: a run has to be
        lost twice.
        """
        store, here = self._access.store.lost, self._here()
        found = [run for run in await store.found() if run.run_id not in here]
        ended = []
        for run in found:
            if run.run_id in self._suspected:
                at = self._clock.now()
                took_ms = (at - run.started_at).total_seconds() * 1000
                if await store.end(run.run_id, at=at, result=_result(run, took_ms).to_json()):
                    _log.warning("run %s of %r was lost with its process", run.run_id, run.workflow)
                    ended.append(run.run_id)
        self._suspected = {run.run_id for run in found}.difference(ended)
        await store.forget_ended()
        return ended

    async def _watch(self) -> None:
        told = False
        while True:
            try:
                await self.look()
                told = False
            except TuvlError as error:
                if not told:
                    _log.warning("lost runs cannot be looked for just now: %s", redact(str(error)))
                told = True
            await asyncio.sleep(LOOK_S)


def _result(run: LostRun, took_ms: float) -> RunResult:
    return RunResult(
        run_id=run.run_id,
        workflow=run.workflow,
        schema_version=run.schema_version,
        status="failed",
        signal=None,
        output=None,
        context={},
        error=RunError(type="process_lost", message=MESSAGE, step=None),
        usage=Usage(),
        steps=(),
        duration_ms=took_ms,
    )
