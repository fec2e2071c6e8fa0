"""The SDK's HTTP client over ours: one address policy, bounded replies, and faults that stay with their call."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextvars import ContextVar
from dataclasses import field

import httpx2

from tuvl.dataclass import dataclass
from tuvl.http.address import AddressPolicy
from tuvl.http.client import HttpClient
from tuvl.http.fault import HttpFault
from tuvl.http.message import HttpRequest
from tuvl.http.wire import HttpStream

MAX_REPLY_BYTES = 10_485_760
"""Largest reply that is read, in bytes; of an event stream, the largest event."""

_PARTING_S = 2.0
"""How long a server may take to answer that its session is over."""

_OURS = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "user-agent"})


@dataclass(slots=True)
class Refusal:
    """What went wrong with the HTTP request of one call, noted where the SDK would lose it."""

    status: int | None = None
    fault: HttpFault | None = None
    in_session: bool = False
    """Whether the request named a session."""
    sent: bool = False
    noted: asyncio.Event = field(default_factory=asyncio.Event)


current_refusal: ContextVar[Refusal | None] = ContextVar("current_refusal", default=None)
"""Where requests made for the sake of the current call note their refusal; the SDK hands the context on."""


def bridged_client(http: HttpClient, policy: AddressPolicy, headers: dict[str, str]) -> httpx2.AsyncClient:
    """Return a client for the SDK whose every request goes through `http`, under `policy`."""
    return httpx2.AsyncClient(
        transport=_Bridge(http, policy), headers=headers, trust_env=False, timeout=None, follow_redirects=False
    )


class _Bridge(httpx2.AsyncBaseTransport):
    def __init__(self, http: HttpClient, policy: AddressPolicy) -> None:
        self._http = http
        self._policy = policy

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _OURS}
        # What arrives is counted as it comes, so it must not unpack to more.
        headers["accept-encoding"] = "identity"
        ours = HttpRequest(method=request.method, url=str(request.url), headers=headers, body=body or None)
        refusal = current_refusal.get() or Refusal()
        try:
            stream = await self._open(ours)
        except HttpFault as fault:
            # Raised inside the SDK it would end every call of the session; as a reply it ends this one.
            refusal.fault, refusal.sent = fault, fault.sent
            refusal.noted.set()
            return _answer_for(fault, request)
        refusal.sent = True
        if stream.status >= 400:
            refusal.status = stream.status
            refusal.in_session = "mcp-session-id" in request.headers
            refusal.noted.set()
        return httpx2.Response(
            status_code=stream.status,
            headers=[(name, value) for name, value in stream.headers.items() if name != "content-encoding"],
            stream=_Body(stream, refusal),
            request=request,
        )

    async def _open(self, request: HttpRequest) -> HttpStream:
        if request.method == "DELETE":
            try:
                async with asyncio.timeout(_PARTING_S):
                    return await self._checked(request)
            except TimeoutError:
                raise HttpFault("the server does not answer", kind="timeout", sent=True) from None
        return await self._checked(request)

    async def _checked(self, request: HttpRequest) -> HttpStream:
        stream = await self._http.open(request, policy=self._policy)
        encoding = stream.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in {"", "identity"}:
            await stream.aclose()
            raise HttpFault(f"the reply is encoded as {encoding!r}, which was not asked for", kind="bad_response")
        return stream


class _Body(httpx2.AsyncByteStream):
    def __init__(self, stream: HttpStream, refusal: Refusal) -> None:
        self._stream = stream
        self._refusal = refusal
        self._endless = stream.headers.get("content-type", "").lower().startswith("text/event-stream")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self._stream.chunks():
                size += len(chunk)
                if size > MAX_REPLY_BYTES and not self._endless:
                    raise HttpFault(f"the reply is larger than {MAX_REPLY_BYTES} bytes", kind="response_too_large")
                yield chunk
        except HttpFault as fault:
            self._refusal.fault = fault
            self._refusal.noted.set()
            # The one error of a body that the SDK keeps to its call.
            raise httpx2.StreamError(fault.message) from fault

    async def aclose(self) -> None:
        await self._stream.aclose()


def _answer_for(fault: HttpFault, request: httpx2.Request) -> httpx2.Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": fault.message}}
    content = json.dumps(error).encode()
    return httpx2.Response(502, headers={"content-type": "application/json"}, content=content, request=request)
