"""Nothing new begins in a reply one of whose calls has failed for good."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from tuvl.racing import unless

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
        return await unless(waiting, self._event.wait())
