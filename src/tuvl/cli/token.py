"""`tuvl token create|list|revoke`: the API tokens of the server."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from tuvl.cli.output import json_document
from tuvl.cli.streams import write_stdout
from tuvl.data.access_rows import TokenRow
from tuvl.data.run_records import StoreAccess
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.principal import ANY, Principal, is_name
from tuvl.project.layout import find_root
from tuvl.server.tokens import SCOPES, new_token
from tuvl.settings import load_settings
from tuvl.suggest import did_you_mean
from tuvl.values import JsonObject, JsonValue, printable, printable_lines
from tuvl.wording import duration_s

Answer = TypeVar("Answer")

_FAMILIES = ("runs", "agent", "metrics")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenOptions:
    """What the command line says of a new token."""

    label: str
    principal: str
    tenant: str | None
    groups: tuple[str, ...]
    scopes: tuple[str, ...]
    lasts: str | None


class TokenCommand:
    """The tokens in the store of runs of one project."""

    def __init__(self, *, project: str | None, as_json: bool) -> None:
        root = find_root(Path.cwd()) if project is None else Path(project)
        if not root.is_dir():
            raise UsageError(f"--project names {project!r}, which is no folder")
        self._access = StoreAccess(str(root), load_settings().database_url)
        self._as_json = as_json

    def create(self, options: TokenOptions) -> int:
        """Make a token and print it, this once."""
        _check_scopes(options.scopes)
        _check_names(options)
        now, made = datetime.now(UTC), new_token()
        row = TokenRow(
            id=made.id,
            label=options.label,
            digest=made.digest,
            principal=Principal(
                id=options.principal,
                tenant=options.tenant,
                groups=frozenset(options.groups),
                scopes=frozenset(options.scopes),
            ),
            created_at=now,
            expires_at=None if options.lasts is None else now + _duration(options.lasts),
        )

        async def keep() -> None:
            await self._access.ready()
            await self._access.store.access.add_token(row)

        self._ask(keep)
        if self._as_json:
            return _printed(json_document({"token": made.text, **_shown(row, now)}))
        sys.stderr.write("tuvl token: this is the only time that it is shown\n")
        return _printed(f"{made.text}\n")

    def list(self) -> int:
        """Print all tokens, the newest first; what they say themselves is known to nobody."""
        rows = self._ask(self._access.store.access.tokens) if self._access.is_there else []
        now = datetime.now(UTC)
        if self._as_json:
            shown: list[JsonValue] = [_shown(row, now) for row in rows]
            return _printed(json_document(shown))
        if not rows:
            sys.stderr.write("tuvl token: there are none; `tuvl token create` makes one\n")
        return _printed(printable_lines(_text(rows, now)))

    def revoke(self, id: str) -> int:
        """Let a token open nothing from now on."""
        wanted = id.removeprefix("tuvl_").split("_")[0]
        found = self._access.is_there and self._ask(
            lambda: self._access.store.access.revoke_token(wanted, datetime.now(UTC))
        )
        if not found:
            raise UsageError(f"there is no token {wanted!r} that opens anything; `tuvl token list` shows them")
        sys.stderr.write(f"tuvl token: {wanted} opens nothing any more\n")
        return 0

    def _ask(self, question: Callable[[], Awaitable[Answer]]) -> Answer:
        async def ask() -> Answer:
            try:
                return await question()
            finally:
                await self._access.aclose()

        return asyncio.run(ask())


def _check_names(options: TokenOptions) -> None:
    """Refuse names that nobody has; one that is empty comes from a variable of the shell that is not set."""
    given = [("--principal", options.principal, "the id of whoever the token is for")]
    if options.tenant is not None:
        given.append(("--tenant", options.tenant, "the id of the tenant whose runs it sees; leave it out for none"))
    given += [("--group", group, "the name of a group") for group in options.groups]
    for option, name, what in given:
        if not is_name(name) or not name.strip():
            raise UsageError(f"{option} takes {what}, not {name!r}")


def _check_scopes(scopes: Sequence[str]) -> None:
    """Refuse what looks like a scope of the server and is none; other scopes are those of the workflows."""
    for scope in scopes:
        if scope != ANY and scope not in SCOPES and scope.split(":")[0] in _FAMILIES:
            hint = did_you_mean(scope, SCOPES) or f"it has {', '.join(SCOPES)}"
            raise UsageError(f"--scope {scope!r} is none of the server's; {hint}")
        if not scope or not scope.isprintable() or " " in scope:
            raise UsageError(f"--scope takes one scope, without spaces, not {scope!r}")


def _duration(text: str) -> timedelta:
    found = duration_s(text)
    if found is None:
        raise UsageError(f"--expires-in takes minutes, hours or days such as 45m, 12h or 90d, not {text!r}")
    lasts = timedelta(seconds=found)
    if lasts > _LONGEST:
        raise UsageError(f"--expires-in takes at most {_LONGEST.days} days; without it a token does not expire")
    return lasts


_LONGEST = timedelta(days=36_500)


def _shown(row: TokenRow, now: datetime) -> JsonObject:
    principal = row.principal
    return {
        "id": row.id,
        "label": row.label,
        "state": _state(row, now),
        "principal": principal.id,
        "tenant": principal.tenant,
        "groups": list[JsonValue](sorted(principal.groups)),
        "scopes": list[JsonValue](sorted(principal.scopes)),
        "created_at": row.created_at.isoformat(),
        "expires_at": _moment(row.expires_at),
        "revoked_at": _moment(row.revoked_at),
        "used_at": _moment(row.used_at),
    }


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _state(row: TokenRow, now: datetime) -> str:
    if row.revoked_at is not None:
        return "revoked"
    return "valid" if row.is_valid(now) else "expired"


def _text(rows: Sequence[TokenRow], now: datetime) -> str:
    lines = []
    for row in rows:
        who = row.principal.id if row.principal.tenant is None else f"{row.principal.tenant}/{row.principal.id}"
        until = "" if row.expires_at is None else f", until {row.expires_at:%Y-%m-%d %H:%M}Z"
        used = "never used" if row.used_at is None else f"last used {row.used_at:%Y-%m-%d %H:%M}Z"
        scopes = " ".join(sorted(row.principal.scopes)) or "no scopes"
        lines.append(f"{row.id}  {_state(row, now)}  {printable(row.label)}  {printable(who)}  {scopes}{until}, {used}")
    return "".join(f"{line}\n" for line in lines)


def _printed(text: str) -> int:
    return 0 if write_stdout(text) else 1
