"""JSON Web Tokens of a signer that the server trusts → a principal."""

from collections.abc import Mapping
from datetime import UTC, datetime

import jwt

from tuvl.dataclass import dataclass
from tuvl.principal import ANY, Principal, is_name
from tuvl.server.jwks import SigningKeys
from tuvl.settings import JwtSettings

ASYMMETRIC = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
"""Algorithms whose keys only the signer has: with any other, whoever can read the key set could sign."""

_LONGEST = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """What a token says that was found good."""

    principal: Principal
    expires_at: datetime


class JwtTokens:
    """Reads tokens by the settings of the environment."""

    def __init__(self, settings: JwtSettings, keys: SigningKeys) -> None:
        self._settings = settings
        self._keys = keys

    async def read(self, text: str) -> Signed | None:
        """Return what a token says; `None` for one that is not good. Raises `KeysUnreachable`."""
        if len(text) > _LONGEST or text.count(".") != 2:
            return None
        try:
            header = jwt.get_unverified_header(text)
        except jwt.PyJWTError:
            return None
        id = header.get("kid")
        if not (id is None or isinstance(id, str)) or header.get("alg") not in ASYMMETRIC:
            return None
        key = await self._keys.key(id)
        if key is None or key.algorithm_name not in ASYMMETRIC:
            return None
        try:
            # The algorithm is that of the key, whatever the token says of itself.
            claims = jwt.decode(
                text,
                key.key,
                algorithms=[key.algorithm_name],
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=self._settings.leeway_s,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
            return self._signed(claims)
        except (jwt.PyJWTError, ValueError, OverflowError, OSError):
            return None

    def _signed(self, claims: Mapping[str, object]) -> Signed | None:
        subject, tenant = claims["sub"], claims.get(self._settings.tenant_claim)
        if not (isinstance(subject, str) and is_name(subject)):
            return None
        if not (tenant is None or (isinstance(tenant, str) and is_name(tenant))):
            return None
        principal = Principal(
            id=subject,
            tenant=tenant,
            groups=_words(claims.get(self._settings.groups_claim)),
            # Every scope at once is for those who run the server, and theirs alone to give.
            scopes=(_words(claims.get("scope")) | _words(claims.get("scp"))) - {ANY},
        )
        return Signed(principal=principal, expires_at=datetime.fromtimestamp(float(str(claims["exp"])), UTC))


def _words(claim: object) -> frozenset[str]:
    """Read a claim that is a list of texts, or one text with spaces between the words."""
    words = claim.split() if isinstance(claim, str) else claim if isinstance(claim, list) else ()
    return frozenset(each for each in words if isinstance(each, str) and is_name(each))
