"""The public keys of a signer of tokens: fetched when first needed, kept, and fetched anew when a key is not there."""

import asyncio
import json
import logging
from pathlib import Path

import jwt

from tuvl.clock import Clock
from tuvl.http.client import HttpClient
from tuvl.http.fault import HttpFault
from tuvl.http.message import HttpRequest

FRESH_S = 300.0
"""How long keys are taken to be current, in seconds."""

COOLDOWN_S = 10.0
"""Least time between two fetches: tokens with keys that nobody knows must not make the server hammer the signer."""

_MOST_BYTES = 262_144
_TIMEOUT_S = 5.0

_log = logging.getLogger("tuvl.server")


class KeysUnreachable(Exception):
    """There are no keys yet, and none can be had."""


class SigningKeys:
    """The keys behind a URL or in a file."""

    def __init__(self, where: str, *, http: HttpClient, clock: Clock) -> None:
        self._where = where
        self._http = http
        self._clock = clock
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._lock = asyncio.Lock()

    async def key(self, id: str | None) -> jwt.PyJWK | None:
        """Return a key by its id; `None` when the signer has none. Raises `KeysUnreachable`."""
        if id not in self._keys or self._is_older_than(self._fetched_at, FRESH_S):
            async with self._lock:
                if id not in self._keys or self._is_older_than(self._fetched_at, FRESH_S):
                    await self._refresh()
        if self._fetched_at is None:
            raise KeysUnreachable
        return self._keys.get(id)

    def _is_older_than(self, moment: float | None, seconds: float) -> bool:
        return moment is None or self._clock.monotonic() - moment >= seconds

    async def _refresh(self) -> None:
        if not self._is_older_than(self._tried_at, COOLDOWN_S):
            return
        self._tried_at = self._clock.monotonic()
        try:
            text = await self._read()
            self._keys = _keys_in(text)
            self._fetched_at = self._clock.monotonic()
        except (OSError, ValueError, HttpFault, jwt.PyJWTError) as error:
            # What is known already goes on being good: a signer that is away for a minute locks nobody out.
            _log.warning("the keys of TUVL_JWT_JWKS cannot be read: %s", type(error).__name__)

    async def _read(self) -> bytes:
        if not self._where.startswith(("https://", "http://")):
            return await asyncio.to_thread(Path(self._where).read_bytes)
        request = HttpRequest(method="GET", url=self._where, headers={"Accept": "application/json"})
        reply = await self._http.send(request, policy=None, max_bytes=_MOST_BYTES, timeout_s=_TIMEOUT_S)
        if reply.status != 200:
            raise ValueError(f"status {reply.status}")
        return reply.body


def _keys_in(text: bytes) -> dict[str | None, jwt.PyJWK]:
    """Read a key set; a set with one key also answers for tokens that name none."""
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("no key set")
    found = [key for key in jwt.PyJWKSet.from_dict(data).keys if key.public_key_use in {None, "sig"}]
    keys: dict[str | None, jwt.PyJWK] = {key.key_id: key for key in found}
    if len(found) == 1:
        keys[None] = found[0]
    else:
        keys.pop(None, None)
    return keys
