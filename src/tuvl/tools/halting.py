"""Nothing new begins in a reply one of whose calls has failed for good."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

Result = TypeVar("Result")


class Halt:
    """Known from the moment a call of a reply fails in a way that ends the run; what runs by then may finish."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    @property
    def known(self) -> bool:
        """Whether a call has failed so."""
        return self._event.is_set()

    def tell(self) -> None:
        """Say that a call has failed so."""
        self._event.set()

    async def unless(self, waiting: Coroutine[object, object, Result]) -> Result | None:
        """Await something that only waits, such as a question to a person; `None` when it is not to be waited for."""
        answer, halted = asyncio.ensure_future(waiting), asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait((answer, halted), return_when=asyncio.FIRST_COMPLETED)
            return answer.result() if answer.done() else None
        finally:
            answer.cancel()
            halted.cancel()
            await asyncio.gather(answer, halted, return_exceptions=True)
