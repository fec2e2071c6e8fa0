"""Response bodies, decompressed under a cap: a small body that unpacks to a huge one never exists in memory."""

import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator

from tuvl.http.fault import HttpFault

ACCEPTED = "gzip, deflate"
"""What is asked for in `Accept-Encoding`."""

_PIECE = 64 * 1024
_MOST_LAYERS = 3


async def read_body(chunks: AsyncIterable[bytes], *, encoding: str | None, max_bytes: int) -> bytes:
    """Read a whole body; `encoding` is its `Content-Encoding`.

    Raises `HttpFault`: `response_too_large` past `max_bytes` at any layer, `bad_response` for an encoding or data
    that cannot be read.
    """
    body = bytearray()
    async for piece in decoded(chunks, encoding=encoding, max_bytes=max_bytes):
        body += piece
    return bytes(body)


async def decoded(chunks: AsyncIterable[bytes], *, encoding: str | None, max_bytes: int) -> AsyncIterator[bytes]:
    """Yield a body decompressed, as it comes; raises as `read_body` does."""
    layers = _layers(encoding, max_bytes)
    size = 0
    async for chunk in chunks:
        for piece in _through(layers, chunk):
            size += len(piece)
            if size > max_bytes:
                raise _too_large(max_bytes)
            yield piece
    for layer in layers:
        layer.require_end()


def _through(layers: "list[_Inflater]", chunk: bytes) -> Iterable[bytes]:
    pieces: Iterable[bytes] = (chunk,)
    for layer in layers:
        pieces = layer.feed(pieces)
    return pieces


def _layers(encoding: str | None, max_bytes: int) -> "list[_Inflater]":
    names = [name.strip().lower() for name in (encoding or "").split(",")]
    names = [name for name in names if name not in {"", "identity"}]
    unknown = [name for name in names if name not in {"gzip", "x-gzip", "deflate"}]
    if unknown or len(names) > _MOST_LAYERS:
        raise HttpFault(
            f"the response is encoded as {', '.join(unknown or names)!r}; only {ACCEPTED} can be read",
            kind="bad_response",
            sent=True,
        )
    # Encodings are listed in the order they were applied, so the last one comes off first.
    return [_Inflater(gzip=name != "deflate", max_bytes=max_bytes) for name in reversed(names)]


class _Inflater:
    """Takes off one layer of gzip or deflate, in pieces of bounded size."""

    def __init__(self, *, gzip: bool, max_bytes: int) -> None:
        self._gzip = gzip
        self._inflate = zlib.decompressobj(16 + zlib.MAX_WBITS) if gzip else None
        self._head = b""
        self._received = False
        self._made = 0
        self._max_bytes = max_bytes

    def feed(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for data in pieces:
            self._received |= bool(data)
            while data:
                made, data = self._step(data)
                self._made += len(made)
                if self._made > self._max_bytes:
                    raise _too_large(self._max_bytes)
                if made:
                    yield made

    def _step(self, data: bytes) -> tuple[bytes, bytes]:
        if self._inflate is None:
            # Servers disagree on what `deflate` is, with the zlib header or without; two bytes tell.
            self._head += data
            if len(self._head) < 2:
                return b"", b""
            wrapped = self._head[0] & 0x0F == 8 and int.from_bytes(self._head[:2]) % 31 == 0
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
            data = self._head
        if self._inflate.eof:
            # A gzip file may have several members, one after the other; anything else after the end is padding.
            if not self._gzip or not data.startswith(b"\x1f"):
                return b"", b""
            self._inflate = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            made = self._inflate.decompress(data, _PIECE)
        except zlib.error:
            raise _broken() from None
        return made, self._inflate.unconsumed_tail or self._inflate.unused_data

    def require_end(self) -> None:
        if self._received and (self._inflate is None or not self._inflate.eof):
            raise _broken()


def _broken() -> HttpFault:
    return HttpFault("the compressed response is damaged or cut off", kind="bad_response", sent=True)


def _too_large(max_bytes: int) -> HttpFault:
    return HttpFault(f"the response is larger than {max_bytes} bytes", kind="response_too_large", sent=True)
