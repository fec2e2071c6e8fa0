"""Which processes are alive, told by a lock that ends with them; whoever is left takes over the runs of the others.

On PostgreSQL each process holds an advisory lock in a session of its own. Every second it asks for the locks of all
that have runs: to get one means that its holder is gone, and under that lock its runs are put back on the queue, once.
What a process still writes that was taken for dead is refused, run by run; see `tuvl.durable.shared_state`. Over the
same session processes tell each other that there is something to do; see `tuvl.durable.notices`.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable

import sqlalchemy as sa

from tuvl.durable.notices import Notices
from tuvl.durable.postgres import lock_key
from tuvl.durable.shared_state import SharedState

BEAT_S = 1.0
"""Seconds between two looks at the others."""

AGAIN_S = 0.2
"""Seconds between two attempts to get back a lock that was lost."""

_ENDS_WITH_ITS_HOST = (
    "SET tcp_keepalives_idle = 1",
    "SET tcp_keepalives_interval = 1",
    "SET tcp_keepalives_count = 3",
    "SET tcp_user_timeout = 4000",
    "SET idle_session_timeout = 0",
)
"""The server lets go of a session whose machine says nothing any more within seconds; it would take hours otherwise."""

_log = logging.getLogger("tuvl.durable")


class Liveness:
    """This process among those that share a database; runs in a thread of its own from `start` to `stop`."""

    def __init__(
        self,
        engine: sa.Engine,
        state: SharedState,
        executor: str,
        *,
        schema: str,
        notices: Notices,
        hears: Callable[[bool], None],
    ) -> None:
        """Wire it; `hears` is told, in that thread, whether this process has its lock, each time that changes."""
        self._engine = engine
        self._state = state
        self._executor = executor
        self._schema = schema
        self._notices = notices
        self._hears = hears
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._session: sa.Connection | None = None

    def start(self) -> None:
        """Take the lock, and begin to look after the others; raises what the database says when it cannot."""
        self._take_lock()
        self._thread = threading.Thread(target=self._watch, name="tuvl-liveness", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Give the lock back: others take over what this process still has."""
        self._stop.set()
        self._notices.stir()
        if self._thread is not None:
            self._thread.join(timeout=BEAT_S * 5)
        if self._session is not None:
            with contextlib.suppress(sa.exc.DBAPIError):  # what is not told is found by those who look
                self._notices.flush(self._session)
        self._drop_session()
        self._notices.close()

    def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                if not self._attend() or not self._holds():
                    self._lose()
                elif not self._stop.is_set():
                    self.look()
            except sa.exc.SQLAlchemyError as error:
                # Also what the state is asked runs into a database that is away; the next beat tries again.
                _log.warning("runs of other processes cannot be looked after just now: %s", type(error).__name__)

    def look(self) -> list[str]:
        """Take over from processes that are gone; returns their ids."""
        gone = []
        for executor in sorted(self._state.owners() - {self._executor}):
            if self._try(executor):
                try:
                    released = self._state.release(executor)
                finally:
                    self._unlock(executor)
                gone.append(executor)
                _log.warning("took over %d runs of %s, which is gone", released, executor)
        return gone

    def _attend(self) -> bool:
        """Wait for the next beat, and hear and tell meanwhile; `False` when the session is lost."""
        until = time.monotonic() + BEAT_S
        try:
            while not self._stop.is_set() and (left := until - time.monotonic()) > 0:
                if self._session is None:
                    return False
                self._notices.attend(self._session, left)
        except (
            sa.exc.DBAPIError,
            OSError,
            ValueError,
        ):  # of a connection that was closed, there is nothing to wait for
            return False
        return True

    # ---- the session -----------------------------------------------------------------------------------------------

    def _holds(self) -> bool:
        """Tell whether the session, and with it the lock, is still there."""
        try:
            return self._session is not None and self._scalar("SELECT 1") == 1
        except sa.exc.DBAPIError:
            return False

    def _lose(self) -> None:
        """Take nothing new until the lock is back."""
        self._notices.lost()
        self._hears(False)
        while not self._stop.is_set():
            self._drop_session()
            try:
                self._take_lock()
            except (sa.exc.DBAPIError, _Taken):
                self._stop.wait(AGAIN_S)
                continue
            if self._stop.is_set():  # whoever stops it may have given up waiting meanwhile
                self._drop_session()
                return
            self._hears(True)
            return

    def _take_lock(self) -> None:
        self._session = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        for statement in _ENDS_WITH_ITS_HOST:
            self._session.exec_driver_sql(statement)
        if not self._try(self._executor):
            raise _Taken
        self._notices.begin(self._session)

    def _drop_session(self) -> None:
        session, self._session = self._session, None
        if session is None:
            return
        # Its connection must not get back into a pool with the lock.
        try:
            session.invalidate()
            session.close()
        except sa.exc.DBAPIError:
            return

    def _try(self, executor: str) -> bool:
        return bool(self._scalar("SELECT pg_try_advisory_lock(:key)", key=self._key(executor)))

    def _unlock(self, executor: str) -> None:
        self._scalar("SELECT pg_advisory_unlock(:key)", key=self._key(executor))

    def _scalar(self, statement: str, **values: int) -> object:
        if self._session is None:
            raise RuntimeError("there is no session")
        return self._session.execute(sa.text(statement), values).scalar()

    def _key(self, executor: str) -> int:
        return lock_key(self._schema, executor)


class _Taken(Exception):
    """Somebody is just taking over from this process."""
