"""Who calls: an API token or a JSON Web Token → a caller, or the same refusal for everything that is neither."""

import asyncio
import logging
from datetime import datetime, timedelta

from tuvl.clock import Clock
from tuvl.data.access_rows import TokenRow
from tuvl.data.run_records import StoreAccess
from tuvl.dataclass import dataclass
from tuvl.errors import TuvlError
from tuvl.principal import ANY, Principal
from tuvl.server.jwks import KeysUnreachable
from tuvl.server.jwt_tokens import JwtTokens
from tuvl.server.problems import Problem
from tuvl.server.tokens import id_of, is_same

USE_KEPT_EVERY = timedelta(minutes=1)
"""How exactly it is kept when a token was last used."""

KNOWN_S = 1.0
"""How long a token that was good is taken to be so without a look at the store, in seconds."""

_MOST_KNOWN = 1000

_log = logging.getLogger("tuvl.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who makes a request; `token_id` is that of an API token."""

    principal: Principal
    token_id: str | None = None
    expires_at: datetime | None = None

    @property
    def key(self) -> tuple[str | None, str]:
        """What tells this principal from every other one."""
        return self.principal.tenant, self.principal.id

    def has(self, scope: str) -> bool:
        """Whether the caller may do what a scope is for."""
        return ANY in self.principal.scopes or scope in self.principal.scopes

    def must_have(self, scope: str) -> None:
        """Raise `Problem` when the caller lacks a scope."""
        if not self.has(scope):
            raise Problem(
                403,
                "scope-missing",
                f"this needs the scope {scope!r}",
                headers={"WWW-Authenticate": f'Bearer realm="tuvl", error="insufficient_scope", scope="{scope}"'},
            )


def unauthorized(*, given: bool) -> Problem:
    """Return the one refusal for a token that is missing, malformed, unknown, revoked, expired or badly signed."""
    challenge = 'Bearer realm="tuvl"' + (', error="invalid_token"' if given else "")
    detail = "the token does not open anything here" if given else "this needs a token: Authorization: Bearer …"
    return Problem(401, "unauthorized", detail, headers={"WWW-Authenticate": challenge})


class Authenticator:
    """Reads tokens. What an API token may do is read anew every second, so that a revoked one opens nothing then."""

    def __init__(self, access: StoreAccess, *, jwt_tokens: JwtTokens | None, clock: Clock) -> None:
        self._access = access
        self._jwt_tokens = jwt_tokens
        self._clock = clock
        self._noting: set[asyncio.Task[None]] = set()
        self._noted: dict[str, datetime] = {}
        self._known: dict[str, tuple[TokenRow, float]] = {}

    async def of_header(self, header: str | None) -> Caller:
        """Return who a header `Authorization` is of; raises `Problem`."""
        if header is None:
            raise unauthorized(given=False)
        scheme, _, text = header.partition(" ")
        caller = await self.of_token(text.strip()) if scheme.lower() == "bearer" else None
        if caller is None:
            raise unauthorized(given=True)
        return caller

    async def of_token(self, text: str) -> Caller | None:
        """Return who a token is of; `None` when it opens nothing. Raises `Problem` when nobody can tell just now."""
        id = id_of(text)
        if id is not None:
            row = await self._row(id)
            good = is_same(text, None if row is None else row.digest)
            return self._caller(row) if row is not None and good else None
        if self._jwt_tokens is None:
            return None
        try:
            signed = await self._jwt_tokens.read(text)
        except KeysUnreachable:
            raise Problem(503, "keys-unreachable", "tokens cannot be checked just now", headers=_SOON) from None
        return None if signed is None else Caller(principal=signed.principal, expires_at=signed.expires_at)

    async def of_token_id(self, id: str) -> Caller | None:
        """Return who a token is of that was shown before; `None` when it opens nothing any more."""
        row = await self._row(id)
        return None if row is None else self._caller(row)

    async def still_opens(self, caller: Caller) -> bool:
        """Tell whether somebody who got in would still: the token is neither expired nor revoked."""
        if caller.expires_at is not None and caller.expires_at <= self._clock.now():
            return False
        return caller.token_id is None or await self.of_token_id(caller.token_id) is not None

    async def _row(self, id: str) -> TokenRow | None:
        now = self._clock.monotonic()
        known = self._known.get(id)
        if known is not None and now - known[1] < KNOWN_S:
            return known[0]
        row = await self._access.store.access.token(id)
        if row is None:
            return None
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[id] = (row, now)
        return row

    async def has_any(self) -> bool:
        """Tell whether there is any token that opens anything."""
        if self._jwt_tokens is not None:
            return True
        return self._access.is_there and await self._access.store.access.has_tokens(self._clock.now())

    async def aclose(self) -> None:
        """Wait until it is kept which tokens were used."""
        await asyncio.gather(*self._noting, return_exceptions=True)

    def _caller(self, row: TokenRow) -> Caller | None:
        now = self._clock.now()
        if not row.is_valid(now):
            return None
        self._note_use(row, now)
        return Caller(principal=row.principal, token_id=row.id, expires_at=row.expires_at)

    def _note_use(self, row: TokenRow, now: datetime) -> None:
        last = self._noted.get(row.id, row.used_at)
        if last is None or now - last >= USE_KEPT_EVERY:
            self._noted[row.id] = now
            task = asyncio.create_task(self._keep_use(row.id, now))
            self._noting.add(task)
            task.add_done_callback(self._noting.discard)

    async def _keep_use(self, id: str, now: datetime) -> None:
        try:
            await self._access.store.access.used_token(id, now)
        except TuvlError:
            _log.warning("it could not be kept that a token was used")


_SOON = {"Retry-After": "5"}
