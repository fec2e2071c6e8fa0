"""A port to listen on, and the server behind it: what every HTTP service of ours needs before its first request."""

import ipaddress
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import uvicorn

from tuvl.errors import UsageError

logging.getLogger("uvicorn").setLevel(logging.WARNING)


def bind(host: str, port: int, *, backlog: int | None = None, option: str = "--port") -> socket.socket:
    """Take the port to serve on, 0 for a free one; raises `UsageError`, which names `option`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host.strip("[]"), port), family=family, backlog=backlog)
        # Connections inherit it. asyncio sets it only where a socket names its protocol, and this one does not: an
        # answer in two pieces would wait 40 ms for the client's system to confirm the first.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except (OSError, OverflowError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UsageError(f"cannot serve on {host!r}, port {port}: {reason.lower()}; see --host and {option}") from error


def url_of(listening: socket.socket) -> str:
    """Return the URL of what listens on a bound socket, without a path."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens on a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def http_server(app: Callable[..., Awaitable[None]], *, last_requests_s: int) -> uvicorn.Server:
    """Return a server that leaves signals, logs and the headers of proxies alone.

    When its `should_exit` is set, requests under way get `last_requests_s` seconds to end.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=last_requests_s,
        ws="none",
        proxy_headers=False,
        server_header=False,
    )
    return _Quiet(config)


class _Quiet(uvicorn.Server):
    """Leaves the signals of the process to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield
