"""Writes that come at the same time, made together: one transaction costs as much as fifty rows."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context

Values = Mapping[str, object]

MOST = 200
"""Rows of one transaction."""


class Gathered:
    """Takes rows one by one; those that come while others are written go into the next transaction."""

    def __init__(self, write: Callable[[Sequence[Values]], Awaitable[None]]) -> None:
        """Write with `write`, which makes one transaction of the rows that it gets."""
        self._write = write
        self._waiting: list[tuple[Values, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def put(self, values: Values) -> None:
        """Write a row, and return when it is written; raises what the write of this row raises."""
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((values, written))
        if self._task is None or self._task.done():
            # It writes for many, and waits no shorter than any of them.
            self._task = asyncio.create_task(self._write_all(), context=Context())
        await written

    async def aclose(self) -> None:
        """Wait until what has come is written."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _write_all(self) -> None:
        while self._waiting:
            taken, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            rows = [(values, written) for values, written in taken if not written.cancelled()]
            if not rows:
                continue
            try:
                await self._write([values for values, _ in rows])
            except Exception as error:  # noqa: BLE001 - whoever put the row gets it; one bad row must not take others along
                await self._write_each(rows, error)
            else:
                for _, written in rows:
                    _settle(written, None)

    async def _write_each(self, rows: Sequence[tuple[Values, asyncio.Future[None]]], error: Exception) -> None:
        if len(rows) == 1:
            _settle(rows[0][1], error)
            return
        for values, written in rows:
            try:
                await self._write([values])
            except Exception as own:  # noqa: BLE001 - as above
                _settle(written, own)
            else:
                _settle(written, None)


def _settle(written: "asyncio.Future[None]", error: Exception | None) -> None:
    if written.done():
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(error)
