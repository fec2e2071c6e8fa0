"""The wire: httpx clients, and connections whose address is judged at the moment they are made.

A name is resolved once, its addresses are judged, and the connection goes to a judged address; so a name that
answers differently the next time, or a redirect, cannot lead anywhere else. Host header and TLS name stay the URL's.
"""

import asyncio
import ipaddress
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Iterable, Sequence
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpcore
import httpx

from tuvl.http.address import AddressPolicy, IpAddress
from tuvl.http.decoding import ACCEPTED
from tuvl.http.fault import HttpFault
from tuvl.http.wire import Resolver

_KEPT_CONNECTIONS = 100
_CONNECT_S = 30.0

# The client libraries log every URL, query included, and a query may hold a key.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """Ask the operating system."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def open_client(*, secure: bool) -> httpx.AsyncClient:
    """Open a client for a service the project's author configured: no address policy, proxies of the environment."""
    # Without TLS the trust store is not loaded: it takes longer than the request.
    verify = httpx.create_ssl_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=_KEPT_CONNECTIONS)
    return _client(httpx.AsyncClient(verify=verify, limits=limits, timeout=None))


def guarded_client(policy: AddressPolicy, resolver: Resolver, *, secure: bool) -> httpx.AsyncClient:
    """Open a client whose every connection obeys `policy`; it uses no proxy, whose address could not be judged."""
    pool = httpcore.AsyncConnectionPool(
        ssl_context=httpx.create_ssl_context(trust_env=False) if secure else None,
        max_connections=None,
        max_keepalive_connections=_KEPT_CONNECTIONS,
        keepalive_expiry=5.0,
        network_backend=_GuardedBackend(policy, resolver),
    )
    return _client(httpx.AsyncClient(transport=_PoolTransport(pool), trust_env=False, timeout=None))


def _client(client: httpx.AsyncClient) -> httpx.AsyncClient:
    client.headers = httpx.Headers({"user-agent": "tuvl", "accept": "*/*", "accept-encoding": ACCEPTED})
    # A kept client must not carry one run's cookies into another.
    # (Given as a jar: an `httpx.Cookies` would be copied into a jar that keeps them.)
    client.cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    return client


class _PoolTransport(httpx.AsyncBaseTransport):
    """Sends httpx requests through a pool of our own making."""

    def __init__(self, pool: httpcore.AsyncConnectionPool) -> None:
        self._pool = pool

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        assert isinstance(request.stream, httpx.AsyncByteStream)
        response = await self._pool.handle_async_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_PoolStream(response),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _PoolStream(httpx.AsyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._response.aiter_stream():
            yield part

    async def aclose(self) -> None:
        await self._response.aclose()


class _GuardedBackend(httpcore.AsyncNetworkBackend):
    """Opens connections to judged addresses only."""

    def __init__(self, policy: AddressPolicy, resolver: Resolver) -> None:
        self._policy = policy
        self._resolver = resolver
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await self._permitted(host, port)
        limit = (timeout or _CONNECT_S) / len(addresses)  # one dead address must not eat the time of the others
        error: Exception = httpcore.ConnectError("no address")
        for address in addresses:
            try:
                return await self._inner.connect_tcp(address, port, limit, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failed:
                error = failed
        raise error

    async def _permitted(self, host: str, port: int) -> list[str]:
        try:
            found = [host] if _as_address(host) else await self._resolver(host, port)
        except OSError:
            raise httpcore.ConnectError(f"the host name {host!r} cannot be resolved") from None
        permitted = [
            text
            for text in found
            if (address := _as_address(text)) and self._policy.permits_address(host, port, address)
        ]
        if not permitted:
            pattern = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            raise HttpFault(
                f"{host!r} leads to a loopback, link-local or private address; if it is meant, add "
                f"'{pattern}' to spec.http.allow_hosts of tuvl.yaml",
                kind="address_refused",
            )
        return permitted

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None
    ) -> httpcore.AsyncNetworkStream:
        raise HttpFault("unix sockets are not reachable from an HTTP call", kind="address_refused")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _as_address(text: str) -> IpAddress | None:
    try:
        return ipaddress.ip_address(text.split("%", 1)[0])
    except ValueError:
        return None
