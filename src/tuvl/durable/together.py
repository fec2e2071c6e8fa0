"""Questions about runs that come at the same time, asked of the database together."""

import asyncio
import contextvars
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Together(Generic[T]):
    """Asks one question about runs; those that come while it is asked are in the next one."""

    def __init__(self, ask: Callable[[Sequence[str]], Mapping[str, T]]) -> None:
        """Ask with `ask`, in a thread; it answers for each run that it is asked about."""
        self._ask = ask
        self._waiting: dict[str, asyncio.Future[T]] = {}
        self._task: asyncio.Task[None] | None = None

    async def about(self, run_id: str) -> T:
        """Return the answer about a run, as it is after this call; raises what asking raises."""
        answered = self._waiting.get(run_id)
        if answered is None:
            answered = self._waiting[run_id] = asyncio.get_running_loop().create_future()
        if self._task is None or self._task.done():
            # In no run's context: it asks for all of them.
            asking = self._ask_all()
            self._task = asyncio.create_task(asking, name="tuvl-together", context=contextvars.Context())
        return await asyncio.shield(answered)

    async def _ask_all(self) -> None:
        while self._waiting:
            asked, self._waiting = self._waiting, {}
            try:
                found = await asyncio.to_thread(self._ask, list(asked))
            except Exception as error:  # noqa: BLE001 - whoever asked gets it
                for answered in asked.values():
                    answered.set_exception(error)
                    answered.exception()  # whoever asked may be gone by now
            else:
                for run_id, answered in asked.items():
                    answered.set_result(found[run_id])
