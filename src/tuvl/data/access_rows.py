"""What is kept of API tokens, and of the keys under which runs were started, as plain rows; imports nothing heavy."""

from datetime import datetime

from tuvl.dataclass import dataclass
from tuvl.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """An API token as it is kept: of its secret there is a digest only."""

    id: str
    label: str
    """What people call it."""
    digest: str
    """SHA-256 of the token, in hexadecimal digits."""
    principal: Principal
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None
    """When it was last used, to the minute."""

    def is_valid(self, now: datetime) -> bool:
        """Whether it opens anything at a moment."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartKey:
    """What is known of a key under which a run was to be started once."""

    run_id: str
    body: str
    """Digest of the request that came with the key first."""
    at: datetime
    """When that was."""
    is_new: bool
    """Whether nothing was known of the key before."""
