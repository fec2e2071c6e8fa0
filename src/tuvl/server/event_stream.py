"""Server-sent events of one run to one client: heartbeats, an end, and what happens when the client leaves.

It ends, too, when the client may watch no more; it connects again, and is told why.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from tuvl.server.problems import Problem
from tuvl.server.sent_events import Reader

MEDIA_TYPE = "text/event-stream"
HEARTBEAT = ": heartbeat\n\n"
RETRY = "retry: 2000\n\n"
"""How long browsers wait before they connect again, in milliseconds."""


class Streams:
    """The event streams that are open, and the end that a server which closes down puts to them."""

    def __init__(self, most: int) -> None:
        self.open = 0
        self._most = most
        self.closing = asyncio.Event()

    def check_room(self) -> None:
        """Raise `Problem` when there is no room for another one."""
        if self.open >= self._most:
            raise Problem(503, "no-room", "as many clients watch as this server takes", headers={"Retry-After": "5"})

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count a stream while the block runs."""
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1


class EventStream(Response):
    """A response that lasts as long as its run, or its client."""

    media_type = MEDIA_TYPE

    def __init__(
        self,
        reader: Reader,
        streams: Streams,
        *,
        heartbeat_s: float,
        patience_s: float,
        on_end: Callable[[bool], None] = lambda complete: None,
        shut_out: Callable[[], Awaitable[None]] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        """Stream what a reader gives; `on_end` is told whether the client got it to its end.

        `shut_out` waits until the client may watch no more.
        """
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no", **(headers or {})})
        del self.headers["content-length"]
        self._reader = reader
        self._streams = streams
        self._heartbeat_s = heartbeat_s
        self._patience_s = patience_s
        self._on_end = on_end
        self._shut_out = shut_out

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the run ends or the client leaves."""
        with self._streams.one():
            await self._serve(receive, send)

    async def _serve(self, receive: Receive, send: Send) -> None:
        complete = False
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_left(receive))
        shutting = None if self._shut_out is None else asyncio.ensure_future(self._shut_out())
        watching = (sending, leaving, *([] if shutting is None else [shutting]))
        try:
            await asyncio.wait(watching, return_when=asyncio.FIRST_COMPLETED)
            complete = sending.done() and not sending.cancelled() and sending.exception() is None and sending.result()
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
            self._on_end(complete)
        if shutting is not None and not shutting.cancelled():
            await self._finish(send)

    async def _send(self, send: Send) -> bool:
        """Send it all; returns whether the client has had the end."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        with suppress(TimeoutError):
            await self._put(send, RETRY)
            while not self._reader.ended:
                text = await self._reader.next(self._heartbeat_s)
                if text or not self._reader.ended:
                    await self._put(send, text or HEARTBEAT)
                if not text and self._streams.closing.is_set():
                    break  # the run goes on elsewhere; the client connects again, and another process answers
            await send(_END)
            return self._reader.ended
        return False

    async def _finish(self, send: Send) -> None:
        """End a stream that was broken off between two pieces, so that its client sees an end and no failure."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience_s):
                await send(_END)

    async def _put(self, send: Send, text: str) -> None:
        """Send a piece; a client that does not read it in time is taken to have left."""
        async with asyncio.timeout(self._patience_s):
            await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


_END: Message = {"type": "http.response.body", "body": b"", "more_body": False}


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
