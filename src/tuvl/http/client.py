"""`HttpClient`: exchanges with bounded bodies over kept connections, redirects followed one judged hop at a time."""

import asyncio
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from tuvl.http.address import AddressPolicy
from tuvl.http.fault import HttpFault
from tuvl.http.message import HttpReply, HttpRequest, check_header
from tuvl.http.url_parts import target_problem
from tuvl.http.wire import HttpStream, Resolver, Wire
from tuvl.values import number_text

MOST_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BODY_HEADERS = frozenset({"content-type", "content-length", "content-encoding", "transfer-encoding"})


class HttpClient:
    """The HTTP client of a runtime. Nothing is loaded or opened before the first exchange.

    It keeps connections, and no cookies: what one run was told does not reach another.
    """

    def __init__(self, *, resolver: Resolver | None = None) -> None:
        self._resolver = resolver
        self._wires: dict[AddressPolicy | None, Wire] = {}

    async def send(
        self,
        request: HttpRequest,
        *,
        policy: AddressPolicy | None,
        max_bytes: int,
        timeout_s: float | None = None,
        follow_redirects: bool = False,
    ) -> HttpReply:
        """Make one exchange and return its reply, whatever the status; raises `HttpFault`.

        `policy` is `None` for a service that the project's author configured, such as a model's `api_base`.
        `timeout_s` bounds the whole exchange, redirects and reading included; `max_bytes` the decompressed body.
        """
        for name, value in request.headers.items():
            check_header(name, value)
        sent = False

        def on_sent() -> None:
            nonlocal sent
            sent = True

        timer = asyncio.timeout(timeout_s)
        try:
            async with timer:
                for _ in range(MOST_REDIRECTS + 1):
                    wire = self._wire(policy)
                    _check_target(request.url, policy)
                    reply = await wire.exchange(request, max_bytes=max_bytes, on_sent=on_sent)
                    following = _next_hop(request, reply) if follow_redirects else None
                    if following is None:
                        return reply
                    request = following
        except TimeoutError:
            if not timer.expired():
                raise
            message = f"no whole reply within {number_text(timeout_s or 0)} s"
            raise HttpFault(message, kind="timeout", sent=sent) from None
        except HttpFault as fault:
            raise HttpFault(fault.message, kind=fault.kind, sent=sent) from fault.__cause__
        raise HttpFault(f"more than {MOST_REDIRECTS} redirects", kind="bad_response", sent=True)

    async def open(self, request: HttpRequest, *, policy: AddressPolicy | None) -> HttpStream:
        """Send one request and return its reply as soon as the head is there; raises `HttpFault`.

        Redirects are not followed, and nothing bounds the time or the size: that is the caller's. Close what you get.
        """
        for name, value in request.headers.items():
            check_header(name, value)
        sent = False

        def on_sent() -> None:
            nonlocal sent
            sent = True

        try:
            _check_target(request.url, policy)
            return await self._wire(policy).open(request, on_sent=on_sent)
        except HttpFault as fault:
            raise HttpFault(fault.message, kind=fault.kind, sent=sent) from fault.__cause__

    async def aclose(self) -> None:
        """Let go of all connections."""
        wires, self._wires = self._wires, {}
        for wire in wires.values():
            await wire.aclose()

    def _wire(self, policy: AddressPolicy | None) -> Wire:
        wire = self._wires.get(policy)
        if wire is None:
            # httpx takes 0.1 s to load: only a process that really calls somewhere pays for it.
            from tuvl.http.exchange import HttpxWire

            wire = self._wires[policy] = HttpxWire(policy, self._resolver)
        return wire


def _check_target(url: str, policy: AddressPolicy | None) -> None:
    problem = target_problem(url)
    if problem is not None:
        raise HttpFault(problem, kind="invalid_request")
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    if policy is not None and not policy.permits_host(host, port):
        raise HttpFault(f"{host!r} is not in spec.policy.allow_hosts of tuvl.yaml", kind="address_refused")


def _next_hop(request: HttpRequest, reply: HttpReply) -> HttpRequest | None:
    location = reply.headers.get("location")
    if reply.status not in _REDIRECTS or not location:
        return None
    try:
        url = urljoin(request.url, location.strip())
        moved = _origin(url) != _origin(request.url)
    except ValueError:
        raise HttpFault("the server redirects to a URL that is not well-formed", kind="bad_response") from None
    headers, body, method = dict(request.headers), request.body, request.method
    if moved:
        headers = {name: value for name, value in headers.items() if name.lower() not in request.credentials}
    if reply.status == 303 or (reply.status in {301, 302} and method == "POST"):
        method = method if method == "HEAD" else "GET"
        body = None
        headers = {name: value for name, value in headers.items() if name.lower() not in _BODY_HEADERS}
    return replace(request, url=url, headers=headers, body=body, method=method)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
