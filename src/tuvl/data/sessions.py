"""The database work of one run, step by step: each step and each tool call has sessions and a transaction of its own.

Nothing is opened, and SQLAlchemy is not imported, before a step first asks for it.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from tuvl.complaints import in_a_word, traceback_of
from tuvl.data.model import DataModel, SourcePlan
from tuvl.data.secure import SecureValues
from tuvl.errors import StepError

if TYPE_CHECKING:
    from sqlalchemy import Table

    from tuvl.data.databases import Databases
    from tuvl.data.step_session import BlockingSession, StepSession

_log = logging.getLogger("tuvl.data")


class DataAccess:
    """The way to the databases of a project, kept by an engine; `aclose` in the event loop it was used in.

    `node_source` says which data source `ctx.session` of a node is on, `None` when the project has none.
    """

    def __init__(self, environ: Mapping[str, str], node_source: Callable[[], SourcePlan | None]) -> None:
        self._environ = environ
        self._databases: Databases | None = None
        self.node_source = node_source

    @property
    def databases(self) -> "Databases":
        """The databases; asking for them imports SQLAlchemy."""
        if self._databases is None:
            from tuvl.data.databases import Databases  # see the module's docstring

            self._databases = Databases(self._environ)
        return self._databases

    @property
    def opened(self) -> "Databases | None":
        """The databases, where anybody has asked for them."""
        return self._databases

    async def aclose(self) -> None:
        """Close every connection."""
        if self._databases is not None:
            await self._databases.aclose()
            self._databases = None


class RunData:
    """The database work of one run; opens the transaction of each step."""

    def __init__(self, access: DataAccess, *, durable: bool = False) -> None:
        self.access = access
        self.durable = durable
        self.secure = SecureValues()
        """What secure fields were given in this run."""

    async def begin(self, step_id: str) -> "StepData":
        """Return the transaction of one step; nothing is opened yet."""
        return StepData(self, step_id)

    async def can_mark(self, source: SourcePlan) -> bool:
        """Tell whether what the run writes to a data source can be marked in its transaction."""
        return await self.access.databases.can_mark(source)

    async def forget(self, run_id: str, sources: Iterable[SourcePlan] = ()) -> None:
        """Take the marks of a run away that has ended. Those that stay do no harm.

        `sources` are those that processes before this one may have made marks in.
        """
        sources = tuple(sources)
        if self.access.opened is None and not sources:
            return
        try:
            await self.access.databases.forget(run_id, sources)
        except Exception as error:  # noqa: BLE001 - whatever a database says, the run has ended
            said = "the marks of run %s stay in a database: %s"
            _log.warning(said, run_id, in_a_word(error), exc_info=traceback_of(error))


class StepData:
    """The sessions of one step or one tool call, one for each data source it touches; they end together."""

    def __init__(self, run: RunData, step_id: str) -> None:
        self._run = run
        self._step_id = step_id
        self._sessions: dict[str, StepSession] = {}
        self._ended = False

    @property
    def data(self) -> "StepData":
        """The object itself: what a step's scope holds of its transaction."""
        return self

    @property
    def secure(self) -> SecureValues:
        """What secure fields were given in this run."""
        return self._run.secure

    def session(self, source: SourcePlan, *, writes: bool) -> "StepSession":
        """Return this step's session on a data source; it connects at its first statement."""
        if self._ended:
            raise StepError(f"step {self._step_id!r} has ended; its database session with it", type="not_available")
        session = self._sessions.get(source.name)
        if session is None:
            from tuvl.data.step_session import open_session  # see the module's docstring

            session = open_session(self._run.access.databases.open(source), writes=writes, durable=self._run.durable)
            self._sessions[source.name] = session
        return session

    def node_session(self, *, writes: bool) -> "StepSession":
        """Return the session that an asynchronous node finds as `ctx.session`."""
        source = self._run.access.node_source()
        if source is None:
            raise StepError("ctx.session is not available: this project has no data source", type="not_available")
        return self.session(source, writes=writes)

    def blocking_session(self, loop: asyncio.AbstractEventLoop, *, writes: bool) -> "BlockingSession":
        """Return the session that a node in a thread finds as `ctx.session`: the same, with calls that wait."""
        from tuvl.data.step_session import BlockingSession  # see the module's docstring

        return BlockingSession(self.node_session(writes=writes), loop)

    async def table(self, model: DataModel, models: Mapping[str, DataModel]) -> "Table":
        """Return the table of a model, made when it was missing."""
        return await self._run.access.databases.table(model, models)

    async def commit(self) -> None:
        """Keep what the step wrote; raises `StepError` when that fails."""
        for name, session in self._sessions.items():
            try:
                await session.finish()
            except Exception as error:
                from tuvl.data.faults import step_error  # see the module's docstring

                raise step_error(error, what=f"data source {name!r}") from error
        await self._close()

    async def rollback(self) -> None:
        """Undo what the step wrote. Never raises: the failure that led here is the one to hear."""
        await self._close()

    async def _close(self) -> None:
        self._ended = True
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            try:
                await session.discard()
            except Exception as error:  # noqa: BLE001 - a session that cannot be closed is gone; the step's end stands
                said = "a database session of step %r could not be closed: %s"
                _log.warning(said, self._step_id, in_a_word(error), exc_info=traceback_of(error))
