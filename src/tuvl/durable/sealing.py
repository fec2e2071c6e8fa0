"""Encrypts what a record holds, with a key of the environment: whoever has only the file reads names and times.

An entry is bound to its run and its name, so that none can take the place of another. Fernet is AES in CBC mode with a
key of its own, and an HMAC over all of it; of several keys the first one seals, and each of them opens.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from tuvl.durable.record import Rows
from tuvl.errors import UsageError
from tuvl.redaction import register_secret
from tuvl.values import JsonObject

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

SEALED = "sealed"
"""Key under which the encrypted text of an entry stands."""

PAYLOAD, RESULT = "/payload", "/result"
"""Names of what is no row: no row's name begins so."""

VARIABLE = "TUVL_RECORD_KEY"


class Seal:
    """Seals the record of one run, and opens it; without a key it leaves all of it as it is."""

    def __init__(self, run_id: str, keys: Sequence[str]) -> None:
        """Take the keys, each 32 bytes in Base64; raises `UsageError` for one that is none."""
        self._run_id = run_id
        self._fernet = _fernet(keys) if keys else None

    def sealed(self, name: str, value: JsonObject) -> JsonObject:
        """Return what is kept of a value; its version and its time stay readable."""
        if self._fernet is None:
            return value
        text = json.dumps([self._run_id, name, value]).encode("ascii")
        shown: JsonObject = {key: value[key] for key in ("v", "t") if key in value}
        return {**shown, SEALED: self._fernet.encrypt(text).decode("ascii")}

    def opened(self, name: str, kept: JsonObject, *, must: bool = False) -> JsonObject:
        """Return the value again; raises `UsageError` where the key does not fit, or `must` and it is not sealed."""
        token = kept.get(SEALED)
        if token is None and not must:
            return kept
        if token is None:
            raise self._refused("holds an entry that is not encrypted, although the run is; somebody has changed it")
        if self._fernet is None:
            raise self._refused(f"is encrypted; set {VARIABLE} to the key that it was begun with")
        from cryptography.fernet import InvalidToken

        try:
            run_id, named, value = json.loads(self._fernet.decrypt(str(token)))
        except InvalidToken:
            raise self._refused(
                f"cannot be opened with {VARIABLE}: it was encrypted with another key, or somebody has changed it"
            ) from None
        if (run_id, named) != (self._run_id, name):
            raise self._refused(f"holds {name!r} in the place of another entry; somebody has changed it")
        return cast(JsonObject, value)

    def opened_rows(self, rows: Mapping[str, JsonObject], *, must: bool) -> dict[str, JsonObject]:
        """Return the rows again."""
        return {name: self.opened(name, row, must=must) for name, row in rows.items()}

    def _refused(self, what: str) -> UsageError:
        return UsageError(f"the record of run {self._run_id!r} {what}")


class SealedRows:
    """Seals each row before it is kept (`tuvl.durable.record.Rows`)."""

    def __init__(self, rows: Rows, seal: Seal) -> None:
        self._rows = rows
        self._seal = seal

    async def put(self, name: str, row: JsonObject) -> None:
        """Keep a row."""
        await self._rows.put(name, self._seal.sealed(name, row))


def is_sealed(kept: JsonObject) -> bool:
    """Tell whether something is encrypted."""
    return SEALED in kept


def _fernet(keys: Sequence[str]) -> "MultiFernet":
    try:
        from cryptography.fernet import Fernet, MultiFernet  # only where there is a key
    except ImportError:
        raise UsageError(f"{VARIABLE} needs the package 'cryptography': pip install 'tuvl[durable]'") from None
    for key in keys:
        register_secret(key)
    try:
        return MultiFernet([Fernet(key.replace("+", "-").replace("/", "_")) for key in keys])
    except ValueError:
        # Nothing of it is shown: it may be a key with a letter too few.
        raise UsageError(
            f"{VARIABLE} holds no key, or one that is none: a key is 32 bytes in Base64, as `openssl rand -base64 32` "
            "makes them; of several, with commas between them, the first one encrypts"
        ) from None
