"""Writers of one SQLite file in this process, each in its turn.

SQLite has one writer at a time, and those who find it taken sleep for longer and longer: whoever writes often keeps the
others out for as long as he likes. Here they queue up, and the first who came is next.
"""

import threading
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

_TURN = "tuvl_turn"
_READS = ("SELECT", "PRAGMA")


class Turns:
    """Who may write."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Event] = deque()

    def take(self, timeout_s: float) -> bool:
        """Wait for a turn; `False` when it did not come in time: then the file itself decides."""
        with self._lock:
            if not self._taken:
                self._taken = True
                return True
            mine = threading.Event()
            self._waiting.append(mine)
        if mine.wait(timeout_s):
            return True
        with self._lock:
            if mine.is_set():
                return True
            self._waiting.remove(mine)
        return False

    def end(self) -> None:
        """Let the next one write."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken = False

    @contextmanager
    def one(self, timeout_s: float) -> Iterator[None]:
        """Have a turn while the block runs."""
        taken = self.take(timeout_s)
        try:
            yield
        finally:
            if taken:
                self.end()


_TURNS: "weakref.WeakKeyDictionary[sa.Engine, Turns]" = weakref.WeakKeyDictionary()


def turns_of(engine: sa.Engine) -> Turns:
    """Return the turns of an engine whose writers take them."""
    return _TURNS[engine]


def write_in_turns(engine: sa.Engine, *, timeout_s: float) -> None:
    """Have the connections of an engine write in turns, each from its first change until it is back in the pool."""
    turns = _TURNS[engine] = Turns()

    @sa.event.listens_for(engine, "before_cursor_execute")
    def write(connection: Connection, cursor: object, statement: str, *rest: object) -> None:
        if statement.lstrip().upper().startswith(_READS) or _TURN in connection.info:
            return
        if turns.take(timeout_s):
            connection.info[_TURN] = True

    def ended(driver: DBAPIConnection, entry: ConnectionPoolEntry, *rest: object) -> None:
        if entry.info.pop(_TURN, None):
            turns.end()

    sa.event.listen(engine, "checkin", ended)
    sa.event.listen(engine, "invalidate", ended)
