"""The ports below `HttpClient`, so that naming them loads no HTTP library."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Protocol

from tuvl.http.message import HttpReply, HttpRequest


class Resolver(Protocol):
    """Turns a host name into addresses."""

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses in order of preference; raises `OSError` when there are none."""
        ...


class HttpStream(Protocol):
    """A reply whose body is read as it comes. Close it; header names are in lower case."""

    @property
    def status(self) -> int:
        """The status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; repeated ones are joined by commas."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it was sent, content encodings included; raises `HttpFault` when it breaks off."""
        ...

    async def aclose(self) -> None:
        """Let go of the connection."""
        ...


class Wire(Protocol):
    """Makes single exchanges under one address policy."""

    async def exchange(self, request: HttpRequest, *, max_bytes: int, on_sent: Callable[[], None]) -> HttpReply:
        """Send one request and read its reply; `on_sent` is called when the first byte may have left."""
        ...

    async def open(self, request: HttpRequest, *, on_sent: Callable[[], None]) -> HttpStream:
        """Send one request and read the head of its reply."""
        ...

    async def aclose(self) -> None:
        """Let go of all connections."""
        ...
