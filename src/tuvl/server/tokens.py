"""API tokens: what they look like, how one is made, and what is kept of it."""

import hashlib
import hmac
import re
import secrets

from tuvl.dataclass import dataclass

SCOPES = ("runs:start", "runs:read", "runs:control", "agent:observe", "agent:control", "metrics:read")
"""What a token of the server may allow; workflows and data models may ask for scopes of their own besides."""

_FORM = re.compile(r"tuvl_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_NOBODYS = hashlib.sha256(secrets.token_bytes(32)).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token as it is made; `text` is shown once and kept nowhere."""

    id: str
    text: str
    digest: str


def new_token() -> NewToken:
    """Make a token with 32 bytes of chance in it."""
    id = secrets.token_hex(6)
    text = f"tuvl_{id}_{secrets.token_urlsafe(32)}"
    return NewToken(id=id, text=text, digest=digest_of(text))


def digest_of(text: str) -> str:
    """Return what is kept of a token."""
    return hashlib.sha256(text.encode()).hexdigest()


def id_of(text: str) -> str | None:
    """Return the id in a token; `None` for what cannot be one."""
    found = _FORM.fullmatch(text)
    return None if found is None else found[1]


def is_same(text: str, digest: str | None) -> bool:
    """Whether a token is the one that a digest was kept of; takes as long for one that nobody knows."""
    known = _NOBODYS if digest is None else digest
    return hmac.compare_digest(digest_of(text), known) and digest is not None
