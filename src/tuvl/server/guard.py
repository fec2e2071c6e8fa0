"""What every request passes first: the name it came under, the size and pace of its body, the headers of its answer."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tuvl.errors import TuvlError
from tuvl.listening import is_loopback
from tuvl.redaction import redact
from tuvl.server.meters import Meters
from tuvl.server.options import ServerOptions
from tuvl.server.problems import Problem, fault_response, problem_of

UNNAMED = frozenset({"/healthz", "/readyz"})
"""Paths that are answered under any name: those who ask for health know an address only."""

_HEADERS: Mapping[bytes, bytes] = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"x-frame-options": b"DENY",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
}
"""Headers of answers that do not say otherwise themselves; pages have a policy of their own."""

_log = logging.getLogger("tuvl.server")


class Guard:
    """Wraps the application; the outermost thing there is."""

    def __init__(self, app: ASGIApp, options: ServerOptions, meters: Meters) -> None:
        self._app = app
        self._options = options
        self._meters = meters
        self._names = _names(options)
        self._headers = dict(_HEADERS)
        if (options.public_url or "").startswith("https://"):
            self._headers[b"strict-transport-security"] = b"max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it at once."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send, self._headers)
        begun = asyncio.get_running_loop().time()
        try:
            self._check(scope)
            body = _Body(receive, self._options.max_body_bytes, self._options.body_timeout_s)
            length = Request(scope).headers.get("content-length", "")
            if length.isdecimal() and int(length) > self._options.max_body_bytes:
                await body.refuse()
            await self._app(scope, body.receive, answer.send)
        except Problem as problem:
            if not answer.begun:
                await problem.response()(scope, receive, answer.send)
        except TuvlError as error:  # the token could not be looked up, before there was anybody to answer for
            if not answer.begun:
                await problem_of(error).response()(scope, receive, answer.send)
        except Exception as error:  # noqa: BLE001 - whatever was overlooked, the client gets an answer and others go on
            _log.error("a request failed: %s", redact(f"{type(error).__name__}: {error}"))
            if not answer.begun:
                await fault_response()(scope, receive, answer.send)
        finally:
            self._count(scope, answer.status, asyncio.get_running_loop().time() - begun)

    def _check(self, scope: Scope) -> None:
        request = Request(scope)
        if self._names is not None and scope["path"] not in UNNAMED:
            name = _host(request.headers.get("host", ""))
            if name not in self._names:
                raise Problem(421, "wrong-host", "this server is not known under that name; see --allow-host")

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = scope.get("route")
        path = getattr(route, "path", None)
        named = path if isinstance(path, str) else "none"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._meters.requests.labels(method, named, str(status)).inc()
        self._meters.request_seconds.labels(method, named).observe(seconds)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def too_large(most: int) -> Problem:
    """Return what is said of a body that is too large."""
    return Problem(413, "too-large", f"the body has more than {most} bytes", headers={"Connection": "close"})


_LINGER_S = 1.0
LINGER_BYTES = 4_194_304
"""How much more of a body that is too large is taken, so that its client gets to read why."""


class _Body:
    """The body of one request, as it arrives: no larger and no slower than it may be."""

    def __init__(self, receive: Receive, most: int, timeout_s: float) -> None:
        self._receive = receive
        self._left = most
        self._most = most
        self._until = asyncio.get_running_loop().time() + timeout_s
        self._whole = False

    async def receive(self) -> Message:
        """Return the next piece; raises `Problem`."""
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            raise Problem(408, "too-slow", "the body did not arrive in time", headers={"Connection": "close"}) from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._left < 0:
                await self.refuse()
        return message

    async def refuse(self) -> None:
        """Take a little more of a body that is too large, so that its client gets to read why; raises `Problem`."""
        seen = 0
        try:
            async with asyncio.timeout(_LINGER_S):
                while not self._whole and seen < LINGER_BYTES:
                    message = await self._receive()
                    seen += len(message.get("body", b""))
                    self._whole = not message.get("more_body", False)
        except TimeoutError:
            pass
        raise too_large(self._most)


class _Answer:
    """An answer on its way out, with the headers that every answer has."""

    def __init__(self, send: Send, headers: Mapping[bytes, bytes]) -> None:
        self._send: Callable[[Message], Awaitable[None]] = send
        self._headers = headers
        self.begun = False
        self.status = 0

    async def send(self, message: Message) -> None:
        """Send a piece."""
        if message["type"] == "http.response.start":
            self.begun, self.status = True, message["status"]
            given = list(message.get("headers", ()))
            said = {name.lower() for name, _ in given}
            given += [(name, value) for name, value in self._headers.items() if name not in said]
            message = {**message, "headers": given}
        await self._send(message)


def _names(options: ServerOptions) -> frozenset[str] | None:
    """Return the names that requests may come under; `None` when any will do.

    On a loopback address only this machine may ask, and a page in a browser must not do so under a name of its own.
    """
    given = {name.lower() for name in options.allow_hosts}
    if options.public_url is not None:
        given.add((urlsplit(options.public_url).hostname or "").lower())
    if not given and not is_loopback(options.host):
        return None
    return frozenset(given | {"localhost", "127.0.0.1", "::1", options.host.strip("[]").lower()})


def _host(header: str) -> str:
    """Return the name in a header `Host`, without its port."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower().rstrip(".")
    except ValueError:
        return ""
