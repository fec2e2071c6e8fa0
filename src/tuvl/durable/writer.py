"""Writes the rows of a process's runs in a thread of its own: those that come while others are written go together.

One transaction costs as much as fifty rows: what it waits for is the disk. Nobody is told that a row is kept before it
is on the disk, whoever else had rows in the same transaction.
"""

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Sequence

from sqlalchemy.engine.interfaces import DBAPIConnection

from tuvl.dataclass import dataclass
from tuvl.durable.faults import RecordFailed
from tuvl.durable.row_table import KeptRow, RowTable

MOST = 100
"""Rows of one transaction."""

PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0
"""Wait before another connection is tried; it grows. Rows wait for as long as it takes: what was done is the truth."""


@dataclass(slots=True)
class Numbering:
    """Numbers the rows of a run as they are written: one that cannot be written takes none, so that none is missing."""

    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRow:
    """One row that is to be written."""

    run_id: str
    owner: str
    """What marks the run as its writer's."""
    name: str
    text: Callable[[int], str]
    """Gives what is written, by its number."""
    at: int
    """Milliseconds since 1970."""
    numbers: Numbering

    def numbered(self, number: int) -> KeptRow:
        """Return it as it is written."""
        return KeptRow(
            run_id=self.run_id,
            owner=self.owner,
            number=number,
            name=self.name,
            text=self.text(number),
            began=self.at,
            ended=self.at,
        )


_Waiting = tuple[NewRow, "asyncio.Future[bool]", asyncio.AbstractEventLoop]

_log = logging.getLogger("tuvl.durable")


class RowWriter:
    """Writes rows to one table; its thread begins with the first of them, and ends with `close`."""

    def __init__(self, table: RowTable) -> None:
        self._table = table
        self._rows: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._connection: DBAPIConnection | None = None

    async def put(self, row: NewRow) -> bool:
        """Write a row, and return when it is on the disk; `False` when the run is its writer's no more.

        Raises `RecordFailed` when it cannot be written.
        """
        if self._closing.is_set():
            raise RecordFailed("its database is closed")
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="tuvl-record", daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        kept: asyncio.Future[bool] = loop.create_future()
        self._rows.put((row, kept, loop))
        return await kept

    def close(self, timeout_s: float = 5.0) -> None:
        """Write what has come, as far as that goes at once, and let go of the database."""
        self._closing.set()
        self._rows.put(None)
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _write_all(self) -> None:
        ended = False
        while not ended:
            taken = [self._rows.get()]
            with contextlib.suppress(queue.Empty):
                while len(taken) < MOST:
                    taken.append(self._rows.get_nowait())
            waiting = [one for one in taken if one is not None]
            ended = len(waiting) < len(taken)
            if waiting:
                _tell(waiting, self._outcomes([row for row, _, _ in waiting]))
        self._let_go()

    def _outcomes(self, rows: Sequence[NewRow]) -> list[bool | Exception]:
        try:
            numbered = _numbered(rows)
            written = self._written(numbered)
        except Exception as error:  # noqa: BLE001 - whoever put the row gets it
            if len(rows) > 1:
                # One bad row must not take others along.
                return [outcome for row in rows for outcome in self._outcomes([row])]
            return [self._table.fault(error)]
        outcomes = [(row.run_id, row.number) in written for row in numbered]
        for new, row, is_written in zip(rows, numbered, outcomes, strict=True):
            if is_written:
                new.numbers.last = row.number
        return list(outcomes)

    def _written(self, rows: Sequence[KeptRow]) -> set[tuple[str, int]]:
        pause = PAUSE_S
        while True:
            try:
                if self._connection is None:
                    self._connection = self._table.connect()
                return self._table.write(self._connection, rows)
            except Exception as error:
                if not self._table.lost_connection(error):
                    raise
                self._let_go()
                if self._closing.is_set():
                    raise
                _log.warning("the record of runs waits for its database: %s", type(error).__name__)
            self._closing.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):  # it may be lost already, each driver with words of its own
                connection.close()


def _numbered(rows: Sequence[NewRow]) -> list[KeptRow]:
    last: dict[int, int] = {}
    numbered = []
    for row in rows:
        number = last[id(row.numbers)] = last.get(id(row.numbers), row.numbers.last) + 1
        numbered.append(row.numbered(number))
    return numbered


def _tell(waiting: Sequence[_Waiting], outcomes: Sequence[bool | Exception]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[bool], bool | Exception]]] = {}
    for (_, kept, loop), outcome in zip(waiting, outcomes, strict=True):
        by_loop.setdefault(loop, []).append((kept, outcome))
    for loop, told in by_loop.items():
        with contextlib.suppress(RuntimeError):  # a loop that has ended; nobody there waits any more
            loop.call_soon_threadsafe(_settle, told)


def _settle(told: Sequence[tuple["asyncio.Future[bool]", bool | Exception]]) -> None:
    for kept, outcome in told:
        if kept.done():
            continue
        if isinstance(outcome, Exception):
            kept.set_exception(outcome)
        else:
            kept.set_result(outcome)
