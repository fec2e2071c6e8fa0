"""Encrypts what is kept of runs, with keys of the environment: whoever has only the file reads names and times.

What is kept is bound to its run and its name, so that none can take the place of another. Fernet is AES in CBC mode
with a key of its own, and an HMAC over all of it; of several keys the first one seals, and each of them opens.
"""

import hashlib
import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from tuvl.errors import UsageError
from tuvl.redaction import register_secret
from tuvl.values import JsonObject, JsonValue

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

SEALED = "sealed"
"""Key under which the encrypted text of an object stands, and with a colon the beginning of an encrypted text."""

_SHOWN = ("v", "t")
"""What stays readable of an object when nothing else is said: its version and its time."""

VARIABLE = "TUVL_RECORD_KEY"


class Unopened(UsageError):
    """What is kept of a run cannot be opened with the keys that there are; nothing is done with it."""


class Keys:
    """The keys of a process; without any, all stays as it is."""

    def __init__(self, keys: Sequence[str] = ()) -> None:
        """Take keys, each 32 bytes in Base64; raises `UsageError` for one that is none."""
        written = [key.replace("+", "-").replace("/", "_") for key in keys]
        self._fernet = _fernet(written) if written else None
        self.marks = tuple(map(_mark_of, written))
        """What names each key without telling anything of it, the one that seals first."""

    def __bool__(self) -> bool:
        """Whether there are any."""
        return self._fernet is not None

    def of(self, run_id: str) -> "Seal":
        """Return the seal of a run."""
        return Seal(run_id, self._fernet)


class Seal:
    """Seals what is kept of one run, and opens it; without a key it leaves all of it as it is."""

    def __init__(self, run_id: str, fernet: "MultiFernet | None") -> None:
        """Wire it; callers use `Keys.of`."""
        self._run_id = run_id
        self._fernet = fernet

    @property
    def seals(self) -> bool:
        """Whether it encrypts anything."""
        return self._fernet is not None

    def sealed(
        self, name: str, value: JsonObject, *, shown: Sequence[str] = _SHOWN, number: int | None = None
    ) -> JsonObject:
        """Return what is kept of a value; the keys that are `shown` stay readable.

        One of several that follow each other holds its `number`, so that none can stand at the place of another.
        """
        if self._fernet is None:
            return value
        plain: JsonObject = {key: value[key] for key in shown if key in value}
        return {**plain, SEALED: self._encrypted(name, value, number)}

    def opened(self, name: str, kept: JsonObject, *, must: bool = False, number: int | None = None) -> JsonObject:
        """Return the value again, which stands at a `number` where it was given one.

        Raises `Unopened` where the key does not fit, the number is another one, or it `must` be sealed and is not.
        """
        if not is_sealed(kept):
            if must:
                raise self._refused(
                    "holds an entry that is not encrypted, although the run is; somebody has changed it"
                )
            return kept
        return cast(JsonObject, self._decrypted(name, str(kept[SEALED]), number))

    def opened_rows(self, rows: Mapping[str, JsonObject], *, must: bool) -> dict[str, JsonObject]:
        """Return the rows again, which stand in order: their numbers are 1 and so on."""
        numbered = enumerate(rows.items(), start=1)
        return {name: self.opened(name, row, must=must, number=number) for number, (name, row) in numbered}

    def sealed_text(self, name: str, text: str) -> str:
        """Return what is kept of a text."""
        return text if self._fernet is None else f"{SEALED}:{self._encrypted(name, text)}"

    def opened_text(self, name: str, kept: str) -> str:
        """Return the text again; raises `Unopened` where the key does not fit."""
        return str(self._decrypted(name, kept.removeprefix(f"{SEALED}:"))) if kept.startswith(f"{SEALED}:") else kept

    def _encrypted(self, name: str, value: JsonValue, number: int | None = None) -> str:
        assert self._fernet is not None
        whole = [self._run_id, name, value] if number is None else [self._run_id, name, value, number]
        return self._fernet.encrypt(json.dumps(whole).encode("ascii")).decode("ascii")

    def _decrypted(self, name: str, token: str, number: int | None = None) -> JsonValue:
        if self._fernet is None:
            raise self._refused(f"is encrypted; set {VARIABLE} to the key that it was begun with")
        from cryptography.fernet import InvalidToken

        try:
            run_id, named, value, *at = json.loads(self._fernet.decrypt(token))
        except InvalidToken:
            raise self._refused(
                f"cannot be opened with {VARIABLE}: it was encrypted with another key, or somebody has changed it"
            ) from None
        if (run_id, named) != (self._run_id, name):
            raise self._refused(f"holds {name!r} in the place of another entry; somebody has changed it")
        if number is not None and at not in ([], [number]):
            raise self._refused(f"has its entry {at[0]} at the place of entry {number}; somebody has changed it")
        return cast(JsonValue, value)

    def _refused(self, what: str) -> Unopened:
        return Unopened(f"the record of run {self._run_id!r} {what}")


def is_sealed(kept: JsonValue) -> bool:
    """Tell whether something is encrypted."""
    return isinstance(kept, dict) and SEALED in kept


def _mark_of(key: str) -> str:
    return hashlib.sha256(b"tuvl record key\0" + urlsafe_b64decode(key)).hexdigest()[:16]


def _fernet(keys: Sequence[str]) -> "MultiFernet":
    try:
        from cryptography.fernet import Fernet, MultiFernet  # only where there is a key
    except ImportError:
        raise UsageError(f"{VARIABLE} needs the package 'cryptography': pip install 'tuvl[durable]'") from None
    for key in keys:
        register_secret(key)
        register_secret(key.replace("-", "+").replace("_", "/"))
    try:
        return MultiFernet([Fernet(key) for key in keys])
    except ValueError:
        # Nothing of it is shown: it may be a key with a letter too few.
        raise UsageError(
            f"{VARIABLE} holds no key, or one that is none: a key is 32 bytes in Base64, as `openssl rand -base64 32` "
            "makes them; of several, with commas between them, the first one encrypts"
        ) from None
