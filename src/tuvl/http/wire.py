"""The ports below `HttpClient`, so that naming them loads no HTTP library."""

from collections.abc import Callable, Sequence
from typing import Protocol

from tuvl.http.message import HttpReply, HttpRequest


class Resolver(Protocol):
    """Turns a host name into addresses."""

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses in order of preference; raises `OSError` when there are none."""
        ...


class Wire(Protocol):
    """Makes single exchanges under one address policy."""

    async def exchange(self, request: HttpRequest, *, max_bytes: int, on_sent: Callable[[], None]) -> HttpReply:
        """Send one request and read its reply; `on_sent` is called when the first byte may have left."""
        ...

    async def aclose(self) -> None:
        """Let go of all connections."""
        ...
