"""The part of the store of runs that keeps the events of durable runs, for whoever watches from another process.

Metadata only, as events are; the words of models are not among them.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias, cast

from sqlalchemy import Executable, Row, delete, text
from sqlalchemy.ext.asyncio import AsyncConnection

from tuvl.data.event_tables import run_events
from tuvl.dataclass import dataclass
from tuvl.sealing import Keys, Unopened
from tuvl.values import JsonObject

Transaction: TypeAlias = Callable[[], AbstractAsyncContextManager[AsyncConnection]]
Reading: TypeAlias = Callable[[Executable], Awaitable[Sequence[Row[tuple[object, ...]]]]]

_KEEP = """
INSERT INTO tuvl_run_events (run_id, first_seq, last_seq, events)
SELECT run_id, first_seq, last_seq, events FROM {given} WHERE true
ON CONFLICT DO NOTHING RETURNING run_id"""
_AFTER = """
SELECT kept.run_id, kept.first_seq, kept.events FROM {given}
JOIN tuvl_run_events kept ON kept.run_id = given.run_id AND kept.first_seq > given.after
ORDER BY kept.run_id, kept.first_seq"""

_POSTGRES = {
    "keep": (
        "unnest(CAST(:runs AS text[]), CAST(:firsts AS int[]), CAST(:lasts AS int[]), CAST(:events AS text[]))"
        " AS given (run_id, first_seq, last_seq, events)"
    ),
    "after": "unnest(CAST(:runs AS text[]), CAST(:places AS int[])) AS given (run_id, after)",
}
_SQLITE = {
    "keep": (
        "(SELECT value ->> 0 AS run_id, value ->> 1 AS first_seq, value ->> 2 AS last_seq, value ->> 3 AS events"
        " FROM json_each(:rows))"
    ),
    "after": "(SELECT value ->> 0 AS run_id, value ->> 1 AS after FROM json_each(:rows)) AS given",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPiece:
    """Events of one run that follow each other; `events` is the JSON list of them."""

    run_id: str
    first_seq: int
    last_seq: int
    events: str


class EventStore:
    """Kept events. Every method raises `StepError` when it cannot."""

    def __init__(self, transaction: Transaction, rows: Reading, dialect: str, keys: Keys) -> None:
        self._keys = keys
        self._transaction = transaction
        self._rows = rows
        self._postgres = dialect == "postgresql"
        given = _POSTGRES if self._postgres else _SQLITE
        self._keep, self._after = _KEEP.format(given=given["keep"]), _AFTER.format(given=given["after"])

    async def keep(self, pieces: Sequence[EventPiece]) -> set[str]:
        """Keep pieces, one of a run, in one statement; returns the runs whose piece is kept.

        Of the others something that begins at the same number is there already.
        """
        rows = [(each.run_id, each.first_seq, each.last_seq, self._sealed(each)) for each in pieces]
        if self._postgres:
            columns = [list(column) for column in zip(*rows, strict=True)]
            given: dict[str, object] = dict(zip(("runs", "firsts", "lasts", "events"), columns, strict=True))
        else:
            given = {"rows": json.dumps(rows)}
        async with self._transaction() as connection:
            kept = await connection.execute(text(self._keep), given)
            return {str(run_id) for (run_id,) in kept}

    async def after(self, places: Mapping[str, int]) -> dict[str, list[JsonObject]]:
        """Return for each run what is kept behind a number, in order; a run of which nothing is kept is left out."""
        if self._postgres:
            given: dict[str, object] = {"runs": list(places), "places": list(places.values())}
        else:
            given = {"rows": json.dumps(list(places.items()))}
        found: dict[str, list[JsonObject]] = {}
        for row in await self._rows(text(self._after).bindparams(**given)):
            run_id, first, events = cast(tuple[str, int, str], tuple(row))
            try:
                opened = self._keys.of(run_id).opened_text(_name(first), events)
            except Unopened:
                continue  # whoever asks for the run itself is told so
            found.setdefault(run_id, []).extend(json.loads(opened))
        return found

    def _sealed(self, piece: EventPiece) -> str:
        return self._keys.of(piece.run_id).sealed_text(_name(piece.first_seq), piece.events)

    async def forget(self, run_id: str, *, up_to: int) -> None:
        """Forget the oldest events of a run, up to a number."""
        old = delete(run_events).where(run_events.c.run_id == run_id, run_events.c.last_seq <= up_to)
        async with self._transaction() as connection:
            await connection.execute(old)


def _name(first_seq: int) -> str:
    return f"/events/{first_seq}"
