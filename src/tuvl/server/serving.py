"""Serves an application on a port until it is told to stop, and then lets its runs end first."""

import asyncio
import logging
import socket
from collections.abc import Sequence
from typing import Protocol

from tuvl.errors import UsageError
from tuvl.listening import http_server, is_loopback
from tuvl.server.app import make_app
from tuvl.server.services import Services

_LAST_REQUESTS_S = 5
"""How long answers under way may take when all runs have ended, in seconds."""

_log = logging.getLogger("tuvl.server")


async def prepare(services: Services) -> bool:
    """Open what is needed, and see that nobody gets in who should not; returns whether anybody can.

    Raises `UsageError` when other machines would reach a server that has no token to ask for, and when another process
    has the durable runs.
    """
    await services.registry.access.ready()
    has_tokens = await services.authenticator.has_any()
    if not has_tokens and not is_loopback(services.options.host):
        raise UsageError(
            f"--host {services.options.host} would let other machines in, and there is no token to ask them for; "
            "make one with `tuvl token create`, or set TUVL_JWT_JWKS"
        )
    await services.open()
    return has_tokens


class Beside(Protocol):
    """Another server of the same services."""

    async def stop(self, grace_s: float) -> None:
        """Take no more requests, and let those under way end within so many seconds."""
        ...


async def serve(
    services: Services, listening: socket.socket, *, stop: asyncio.Event, beside: Sequence[Beside] = ()
) -> None:
    """Serve until `stop` is set; then drain, answer what is under way, and close everything.

    What serves the same services `beside` is stopped when they are drained.
    """
    server = http_server(make_app(services), last_requests_s=_LAST_REQUESTS_S)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():
            await services.drain()
    finally:
        stopping.cancel()
        server.should_exit = True
        ending = [other.stop(_LAST_REQUESTS_S) for other in beside]
        await asyncio.gather(serving, stopping, *ending, return_exceptions=True)
        listening.close()
        await services.aclose()
    if serving.done() and not serving.cancelled() and (error := serving.exception()) is not None:
        raise error
