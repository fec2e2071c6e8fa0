"""Notices between processes on one PostgreSQL: that runs were put on a queue, or something is due some time.

They are sent and heard over the session that tells that the process is alive. What they tell of is committed by then:
PostgreSQL lets commits that carry a notice wait for each other, and none of ours is to wait. A process that dies in
between has sent none, and one may be lost with a connection: nothing may rely on them but the wish to be fast.
"""

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any, cast
from uuid import uuid4

import sqlalchemy as sa

from tuvl.durable.idling import Idling

APART_S = 0.05
"""Shortest time between two notices of a process, in seconds: what happens meanwhile is told by one."""


class Notices:
    """What one process tells the others, and hears from them; all but `tell` is for the thread of its session."""

    def __init__(self, schema: str, idling: Idling, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Wire it; `idling` learns what is heard, and whether anything would be."""
        self._channel = f"tuvl_{sha256(schema.encode()).hexdigest()[:16]}"
        self._idling = idling
        self._clock = clock
        self._probe = ""
        self._pending = threading.Event()
        self._sent_at = float("-inf")
        self._woken, self._wake = socket.socketpair()
        self._woken.setblocking(False)
        self._wake.setblocking(False)

    def tell(self) -> None:
        """Have the others told soon, from any thread."""
        if not self._pending.is_set():
            self._pending.set()
            self.stir()

    def stir(self) -> None:
        """End a wait, from any thread."""
        with contextlib.suppress(OSError):  # it is full, or closed: nobody has to be stirred any more
            self._wake.send(b"!")

    def begin(self, session: sa.Connection) -> None:
        """Listen over a session, and find out whether notices come: behind a pooler they may not."""
        self._idling.trust(False)
        self._probe = uuid4().hex
        self._driver(session).add_notify_handler(self._heard)
        session.exec_driver_sql(f"LISTEN {self._channel}")
        self._send(session, self._probe)

    def lost(self) -> None:
        """Hear that the session is gone: from now on nothing is told here."""
        self._idling.trust(False)

    def attend(self, session: sa.Connection, seconds: float) -> None:
        """Send what is to be told, and wait for what others say, for some seconds or until somebody stirs.

        Raises `DBAPIError` when the session is lost.
        """
        until = self._clock() + seconds
        while (left := until - self._clock()) > 0:
            if self._pending.is_set():
                apart = self._sent_at + APART_S - self._clock()
                if apart <= 0:
                    self.flush(session)
                    continue
                left = min(left, apart)
            ready = self._ready(session, left)
            if self._woken in ready:
                with contextlib.suppress(BlockingIOError):
                    self._woken.recv(1024)
                if not self._pending.is_set():
                    return
            elif ready:
                session.exec_driver_sql("SELECT 1")  # what has come is handed over by the way

    def flush(self, session: sa.Connection) -> None:
        """Send what is to be told, now."""
        if self._pending.is_set():
            self._pending.clear()
            self._send(session, "")

    def close(self) -> None:
        """Let go of what a wait was ended by."""
        self._wake.close()
        self._woken.close()

    def _send(self, session: sa.Connection, words: str) -> None:
        self._sent_at = self._clock()
        # It says nothing that has to last: its commit waits for no disk. Only its own, also behind a pooler.
        notify = f"NOTIFY {self._channel}, '{words}'"
        session.exec_driver_sql(f"BEGIN; SET LOCAL synchronous_commit = off; {notify}; COMMIT")

    def _ready(self, session: sa.Connection, seconds: float) -> set[object]:
        """Wait for something over the session, or to be stirred; returns what there is."""
        with selectors.DefaultSelector() as waits:
            waits.register(self._driver(session), selectors.EVENT_READ)
            waits.register(self._woken, selectors.EVENT_READ)
            return {key.fileobj for key, _ in waits.select(seconds)}

    def _heard(self, notice: Any) -> None:
        if notice.channel != self._channel:
            return
        if notice.payload == self._probe:
            self._idling.trust(True)
        elif not notice.payload:
            self._idling.hear()

    def _driver(self, session: sa.Connection) -> Any:
        return cast(Any, session.connection.driver_connection)
