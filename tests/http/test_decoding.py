"""Compressed bodies under a cap."""

import gzip
import tracemalloc
import zlib

import pytest

from tuvl.http.decoding import read_body
from tuvl.http.fault import HttpFault

TEXT = b"hello world " * 100


async def read(body, *, encoding="gzip", max_bytes=100_000, piece=7):
    async def chunks():
        for start in range(0, len(body), piece):
            yield body[start : start + piece]

    return await read_body(chunks(), encoding=encoding, max_bytes=max_bytes)


def raw_deflate(data: bytes) -> bytes:
    made = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return made.compress(data) + made.flush()


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (TEXT, None),
        (TEXT, ""),
        (TEXT, "identity"),
        (gzip.compress(TEXT, mtime=0), "gzip"),
        (gzip.compress(TEXT, mtime=0), "X-GZIP"),
        (zlib.compress(TEXT), "deflate"),
        (raw_deflate(TEXT), "deflate"),
        (gzip.compress(zlib.compress(TEXT), mtime=0), "deflate, gzip"),
        (gzip.compress(TEXT[:500], mtime=0) + gzip.compress(TEXT[500:], mtime=0), "gzip"),
        (gzip.compress(TEXT, mtime=0) + b"\0\0\0", "gzip"),
    ],
    ids=["none", "empty", "identity", "gzip", "x-gzip", "zlib", "raw", "stacked", "members", "padded"],
)
@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
async def test_body_is_unpacked_whole(body, encoding, piece):
    assert await read(body, encoding=encoding, piece=piece) == TEXT


async def test_empty_body_with_an_encoding_is_empty():
    assert await read(b"", encoding="gzip") == b""


@pytest.mark.parametrize("size", [1200, 1201])
async def test_cap_is_exact(size):
    body = gzip.compress(b"x" * size)
    if size <= 1200:
        assert len(await read(body, max_bytes=1200)) == size
    else:
        with pytest.raises(HttpFault, match="larger than 1200 bytes") as caught:
            await read(body, max_bytes=1200)
        assert caught.value.kind == "response_too_large"


@pytest.mark.parametrize("layers", [1, 2, 3])
async def test_bomb_costs_no_memory(layers):
    """L07: a small body that unpacks to hundreds of megabytes, through one layer or several."""
    size = 64 << 20 if layers == 1 else 256 << 20
    maker = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS)
    zeros = b"\0" * (1 << 20)
    body = b"".join(maker.compress(zeros) for _ in range(size >> 20)) + maker.flush()
    for _ in range(layers - 1):
        body = gzip.compress(body, 9)
    tracemalloc.start()
    try:
        with pytest.raises(HttpFault) as caught:
            await read(body, encoding=", ".join(["gzip"] * layers), max_bytes=1 << 20, piece=1 << 20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.kind == "response_too_large"
    assert peak < 8 << 20


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"not gzip at all", "gzip"),
        (gzip.compress(TEXT, mtime=0)[:-20], "gzip"),
        (zlib.compress(TEXT)[:10], "deflate"),
        (TEXT, "br"),
        (TEXT, "zstd"),
        (TEXT, "gzip, gzip, gzip, gzip"),
    ],
    ids=["no-gzip", "cut-gzip", "cut-deflate", "br", "zstd", "too-many"],
)
async def test_damage_and_unknown_encodings_are_faults(body, encoding):
    with pytest.raises(HttpFault) as caught:
        await read(body, encoding=encoding)
    assert caught.value.kind == "bad_response"
