"""Single exchanges over kept httpx clients, and httpx's errors in our own words."""

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager

import httpcore
import httpx

from tuvl.http.address import AddressPolicy
from tuvl.http.decoding import read_body
from tuvl.http.fault import HttpFault
from tuvl.http.message import HttpReply, HttpRequest
from tuvl.http.transport import guarded_client, open_client, system_resolver
from tuvl.http.wire import Resolver

_TIMEOUTS = (httpx.TimeoutException, httpcore.TimeoutException)
_NOT_CONNECTED = (httpx.ConnectError, httpcore.ConnectError)
_LOST = (httpx.NetworkError, httpx.RemoteProtocolError, httpcore.NetworkError, httpcore.RemoteProtocolError)
_NOT_SENDABLE = (
    httpx.InvalidURL,
    httpx.LocalProtocolError,
    httpx.UnsupportedProtocol,
    httpcore.LocalProtocolError,
    httpcore.UnsupportedProtocol,
    UnicodeEncodeError,
)
_OTHER = (httpx.HTTPError, httpcore.ProxyError, httpcore.ProtocolError)


class HttpxWire:
    """One httpx client for plain HTTP and one for TLS, each opened when first needed."""

    def __init__(self, policy: AddressPolicy | None, resolver: Resolver | None) -> None:
        self._policy = policy
        self._resolver = resolver or system_resolver
        self._clients: dict[bool, httpx.AsyncClient] = {}

    async def exchange(self, request: HttpRequest, *, max_bytes: int, on_sent: Callable[[], None]) -> HttpReply:
        """Send one request and read its reply; raises `HttpFault`."""
        with _in_our_words(httpx.URL(request.url).host):
            response = await self._send(request, on_sent)
            try:
                body = await read_body(
                    response.aiter_raw(), encoding=response.headers.get("content-encoding"), max_bytes=max_bytes
                )
            finally:
                await response.aclose()
        reason, headers = response.reason_phrase, _headers(response)
        return HttpReply(status=response.status_code, reason=reason, headers=headers, body=body)

    async def open(self, request: HttpRequest, *, on_sent: Callable[[], None]) -> "HttpxStream":
        """Send one request and read the head of its reply; raises `HttpFault`."""
        with _in_our_words(httpx.URL(request.url).host):
            return HttpxStream(await self._send(request, on_sent))

    async def _send(self, request: HttpRequest, on_sent: Callable[[], None]) -> httpx.Response:
        async def trace(name: str, info: dict[str, object]) -> None:
            if name.endswith("send_request_headers.started"):
                on_sent()

        client = self._client(secure=request.url[:6].lower() == "https:")
        sending = client.build_request(
            request.method,
            request.url,
            headers=dict(request.headers),
            content=request.body,
            extensions={"trace": trace},
        )
        return await client.send(sending, stream=True)

    async def aclose(self) -> None:
        """Let go of all connections."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    def _client(self, *, secure: bool) -> httpx.AsyncClient:
        client = self._clients.get(secure)
        if client is None:
            if self._policy is None:
                client = open_client(secure=secure)
            else:
                client = guarded_client(self._policy, self._resolver, secure=secure)
            self._clients[secure] = client
        return client


class HttpxStream:
    """A reply that is still coming."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers: Mapping[str, str] = _headers(response)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it was sent; raises `HttpFault` when it breaks off."""
        with _in_our_words(self._response.url.host):
            async for chunk in self._response.aiter_raw():
                yield chunk

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._response.aclose()


def _headers(response: httpx.Response) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


@contextmanager
def _in_our_words(host: str) -> Iterator[None]:
    """Turn the errors of httpx and httpcore into `HttpFault`; their texts may quote the request, so none is kept."""
    try:
        yield
    except _TIMEOUTS as error:
        raise HttpFault(f"connecting to {host!r} took too long", kind="timeout") from error
    except _NOT_CONNECTED as error:
        raise HttpFault(f"no connection to {host!r}{_reason(error)}", kind="connect") from error
    except _LOST as error:
        if "location header" in str(error):  # httpx reads it even where redirects are not followed
            raise HttpFault(f"{host!r} redirects to a URL that is not well-formed", kind="bad_response") from error
        raise HttpFault(f"the connection to {host!r} was lost before the whole reply came", kind="lost") from error
    except _NOT_SENDABLE as error:
        raise HttpFault("the request cannot be sent as it is written", kind="invalid_request") from error
    except _OTHER as error:
        raise HttpFault(f"the exchange with {host!r} failed ({type(error).__name__})", kind="bad_response") from error


def _reason(error: BaseException) -> str:
    """Find what the operating system said; `All connection attempts failed` helps nobody."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno:
            return f": {os.strerror(seen.errno).lower()}"
        if isinstance(seen, ExceptionGroup):
            seen = seen.exceptions[0]
            continue
        seen = seen.__cause__ or seen.__context__
    text = str(error)
    return f": {text}" if "resolved" in text or "certificate" in text.lower() else ""
