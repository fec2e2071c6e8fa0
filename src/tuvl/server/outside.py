"""The end of a run of which this process has no events: it is over, or it goes on in another process."""

import asyncio
from collections.abc import Sequence

from tuvl.clock import Clock
from tuvl.events.types import RunFinished
from tuvl.principal import Principal
from tuvl.server.problems import Problem
from tuvl.server.reading import Reading
from tuvl.server.sent_events import Reader, SentEvent
from tuvl.values import JsonObject, dump_json

LOOK_S = 1.0
"""Pause between two looks at the store of runs, in seconds."""


class OutsideReader(Reader):
    """Gives one event, the terminal one, as soon as the record of the run says how it ended."""

    def __init__(
        self, reading: Reading, run_id: str, reader: Principal, *, clock: Clock, closing: asyncio.Event
    ) -> None:
        self._reading = reading
        self._run_id = run_id
        self._reader = reader
        self._clock = clock
        self._closing = closing

    async def events(self, timeout_s: float) -> Sequence[SentEvent]:
        """Wait for the end, so many seconds at most."""
        until = self._clock.monotonic() + timeout_s
        while True:
            try:
                run = await self._reading.run(self._run_id, self._reader)
            except Problem:
                self.ended = True  # it was taken off the record
                return ()
            if run["status"] not in {"queued", "running"}:
                self.ended = True
                return (_terminal(run),)
            left = until - self._clock.monotonic()
            if left <= 0 or self._closing.is_set():
                return ()
            await asyncio.sleep(min(LOOK_S, left))


def _terminal(run: JsonObject) -> SentEvent:
    wire: JsonObject = {
        "type": RunFinished.type,
        "run_id": run["run_id"],
        "seq": None,
        "at": run["finished_at"],
        "step_id": None,
        "status": run["status"],
        "signal": run["signal"],
        "duration_ms": run["duration_ms"],
        "dropped": 0,
    }
    return SentEvent(None, RunFinished.type, wire, f"event: {RunFinished.type}\ndata: {dump_json(wire)}\n\n")
