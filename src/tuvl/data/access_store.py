"""The part of the store of runs that the server needs: API tokens, keys of starts, and sessions that are over."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import TypeAlias, cast

from sqlalchemy import Row, RowMapping, Select, delete, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from tuvl.data.access_rows import StartKey, TokenRow
from tuvl.data.access_tables import ended_sessions, start_keys, tokens
from tuvl.principal import Principal

Transaction: TypeAlias = Callable[[], AbstractAsyncContextManager[AsyncConnection]]
Reading: TypeAlias = Callable[[Select[tuple[object, ...]]], Awaitable[Sequence[Row[tuple[object, ...]]]]]

KEPT = timedelta(hours=24)
"""How long a key under which a run was started is known."""


class AccessStore:
    """API tokens, start keys, ended sessions. Every method raises `StepError` when the store cannot be reached."""

    def __init__(self, transaction: Transaction, rows: Reading, dialect: str) -> None:
        self._transaction = transaction
        self._rows = rows
        self._postgres = dialect == "postgresql"

    # ---- tokens --------------------------------------------------------------------------------------------------

    async def add_token(self, row: TokenRow) -> None:
        """Keep a new token."""
        values = {
            "id": row.id,
            "label": row.label,
            "digest": row.digest,
            "principal": row.principal.id,
            "tenant": row.principal.tenant,
            "groups": sorted(row.principal.groups),
            "scopes": sorted(row.principal.scopes),
            "created_at": row.created_at,
            "expires_at": row.expires_at,
        }
        async with self._transaction() as connection:
            await connection.execute(insert(tokens).values(values))

    async def token(self, id: str) -> TokenRow | None:
        """Return a token by its id, also one that opens nothing any more."""
        found = await self._rows(cast(Select[tuple[object, ...]], select(tokens).where(tokens.c.id == id)))
        return _token(found[0]._mapping) if found else None

    async def tokens(self) -> list[TokenRow]:
        """Return all tokens, the newest first."""
        query = select(tokens).order_by(tokens.c.created_at.desc(), tokens.c.id)
        return [_token(row._mapping) for row in await self._rows(cast(Select[tuple[object, ...]], query))]

    async def has_tokens(self, now: datetime) -> bool:
        """Tell whether any token opens anything."""
        unexpired = or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > now)
        query = select(tokens.c.id).where(tokens.c.revoked_at.is_(None), unexpired).limit(1)
        return bool(await self._rows(cast(Select[tuple[object, ...]], query)))

    async def revoke_token(self, id: str, at: datetime) -> bool:
        """Let a token open nothing from now on; `False` when there is none of that id that was not revoked before."""
        open_one = (tokens.c.id == id) & tokens.c.revoked_at.is_(None)
        async with self._transaction() as connection:
            changed = await connection.execute(update(tokens).where(open_one).values(revoked_at=at))
            return changed.rowcount == 1

    async def used_token(self, id: str, at: datetime) -> None:
        """Keep when a token was used."""
        async with self._transaction() as connection:
            await connection.execute(update(tokens).where(tokens.c.id == id).values(used_at=at))

    # ---- sessions of browsers ------------------------------------------------------------------------------------

    async def end_session(self, id: str, *, until: datetime, at: datetime) -> None:
        """Keep that a session is over, as long as its cookie would open anything; said twice, it is once."""
        added = postgresql.insert(ended_sessions) if self._postgres else sqlite.insert(ended_sessions)
        async with self._transaction() as connection:
            await connection.execute(delete(ended_sessions).where(ended_sessions.c.until < at))
            await connection.execute(added.values({"id": id, "until": until}).on_conflict_do_nothing())

    async def has_ended(self, id: str) -> bool:
        """Tell whether a session was ended before its time."""
        query = select(ended_sessions.c.id).where(ended_sessions.c.id == id)
        return bool(await self._rows(cast(Select[tuple[object, ...]], query)))

    # ---- keys of starts ------------------------------------------------------------------------------------------

    async def claim(self, key: str, *, body: str, run_id: str, at: datetime) -> StartKey:
        """Keep that a run is started under a key, unless that was said before; returns what holds then.

        Exactly one of several that say it at once gets its own run id back.
        """
        values = {"key": key, "body": body, "run_id": run_id, "at": at}
        added = postgresql.insert(start_keys) if self._postgres else sqlite.insert(start_keys)
        async with self._transaction() as connection:
            await connection.execute(delete(start_keys).where(start_keys.c.at < at - KEPT))
            result = await connection.execute(added.values(values).on_conflict_do_nothing())
            if result.rowcount == 1:
                return StartKey(run_id=run_id, body=body, at=at, is_new=True)
            found = (await connection.execute(select(start_keys).where(start_keys.c.key == key))).one()._mapping
        return StartKey(
            run_id=str(found["run_id"]), body=str(found["body"]), at=cast(datetime, found["at"]), is_new=False
        )

    async def release(self, key: str) -> None:
        """Forget a key: nothing was started under it."""
        async with self._transaction() as connection:
            await connection.execute(delete(start_keys).where(start_keys.c.key == key))


def _token(found: RowMapping) -> TokenRow:
    return TokenRow(
        id=str(found["id"]),
        label=str(found["label"]),
        digest=str(found["digest"]),
        principal=Principal(
            id=str(found["principal"]),
            tenant=cast(str | None, found["tenant"]),
            groups=frozenset(cast(list[str], found["groups"])),
            scopes=frozenset(cast(list[str], found["scopes"])),
        ),
        created_at=cast(datetime, found["created_at"]),
        expires_at=cast(datetime | None, found["expires_at"]),
        revoked_at=cast(datetime | None, found["revoked_at"]),
        used_at=cast(datetime | None, found["used_at"]),
    )
