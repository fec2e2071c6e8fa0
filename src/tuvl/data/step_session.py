"""The session of one step: an SQLAlchemy session that the engine alone commits."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar

from sqlalchemy import Executable, Result, ScalarResult
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from tuvl.data.engines import DURABLE, WRITES

Answer = TypeVar("Answer")

Parameters: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""Values of a statement's parameters, as SQLAlchemy takes them."""


class StepSession(AsyncSession):
    """What an asynchronous node finds as `ctx.session`.

    Its transaction is the step's: kept when the step leaves on anything but `error`, undone otherwise. For an inner
    unit of work there is `begin_nested()`.
    """

    def __init__(self, bind: AsyncEngine, *, expire_on_commit: bool, close_resets_only: bool) -> None:
        super().__init__(bind, expire_on_commit=expire_on_commit, close_resets_only=close_resets_only)
        self._calls: set[asyncio.Task[object]] = set()

    async def commit(self) -> NoReturn:
        """Refuse: the transaction ends with the step."""
        raise RuntimeError(
            "ctx.session is committed by the engine when the step ends; `begin_nested()` makes a savepoint"
        )

    async def rollback(self) -> NoReturn:
        """Refuse: the transaction ends with the step."""
        raise RuntimeError(
            "ctx.session is rolled back by the engine when the step leaves on `error`; raise, or return it"
        )

    async def finish(self) -> None:
        """Commit; for the engine."""
        await super().commit()

    async def discard(self) -> None:
        """Roll back what is not committed and let go of the connection, for good; for the engine."""
        calls = [call for call in self._calls if call is not asyncio.current_task()]
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await super().close()

    async def awaited(self, work: Awaitable[Answer]) -> Answer:
        """Await a call that came from a thread; when the step is cut off meanwhile, so is the call."""
        call = asyncio.current_task()
        if call is None:
            raise RuntimeError("a call needs a task")
        self._calls.add(call)
        try:
            return await work
        finally:
            self._calls.discard(call)


def open_session(engine: AsyncEngine, *, writes: bool, durable: bool = False) -> StepSession:
    """Return a session; `writes` takes SQLite's one write lock at the first statement, not in the middle.

    In a `durable` run a commit returns when it is on the disk.
    """
    # A session that is closed stays closed: code that outlives its step has no business in the database.
    bound = engine.execution_options(**{WRITES: writes, DURABLE: durable})
    return StepSession(bound, expire_on_commit=False, close_resets_only=False)


class BlockingSession:
    """What a node that runs in a thread finds as `ctx.session`: the step's session, with calls that wait."""

    def __init__(self, session: StepSession, loop: asyncio.AbstractEventLoop) -> None:
        self._session = session
        self._loop = loop

    def execute(self, statement: Executable, parameters: Parameters | None = None) -> Result[Any]:
        """Run a statement, e.g. `text("SELECT …")`, and return its buffered result."""
        return self._wait(self._session.execute(statement, parameters))

    def scalar(self, statement: Executable, parameters: Parameters | None = None) -> Any:
        """Run a statement and return the first column of its first row, `None` when there is none."""
        return self._wait(self._session.scalar(statement, parameters))

    def scalars(self, statement: Executable, parameters: Parameters | None = None) -> ScalarResult[Any]:
        """Run a statement and return the first column of its rows."""
        return self._wait(self._session.scalars(statement, parameters))

    def _wait(self, work: Awaitable[Answer]) -> Answer:
        return asyncio.run_coroutine_threadsafe(self._session.awaited(work), self._loop).result()
