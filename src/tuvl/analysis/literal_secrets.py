"""Literals that look like credentials, by the shape that issuers give them, or by their place and their look."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tuvl.analysis.fault import Fault
from tuvl.values import KeyPath

SHAPES = re.compile(
    r"""
    (?P<key_of_a_model_provider>\bsk-(?:ant-|proj-|or-v1-|svcacct-)?[A-Za-z0-9_-]{20,})
  | (?P<payment_key>\b[rs]k_live_[A-Za-z0-9]{16,})
  | (?P<cloud_access_key>\b(?:AKIA|ASIA)[A-Z0-9]{16}\b)
  | (?P<cloud_api_key>\bAIza[A-Za-z0-9_-]{35})
  | (?P<repository_token>\b(?:gh[opsru]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{40,}|glpat-[A-Za-z0-9_-]{20,}))
  | (?P<chat_token>\bxox[abeoprs]-[A-Za-z0-9-]{10,})
  | (?P<chat_webhook>hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,})
  | (?P<package_token>\b(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|hf_[A-Za-z0-9]{30,}))
  | (?P<mail_key>\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})
  | (?P<signed_token>\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})
  | (?P<private_key>-----BEGIN\ (?:[A-Z]+\ )*PRIVATE\ KEY-----)
    """,
    re.VERBOSE,
)
"""Credentials that can be told by their shape alone."""

_HINT = re.compile(
    r"sk-|k_live_|A[KS]IA|AIza|gh[opsru]_|github_pat_|glpat-|xox|hooks\.sl|npm_|pypi-|hf_|SG\.|eyJ|-----B"
)
"""What every shape begins with; most texts have none of it."""

_NAMES = re.compile(
    r"api[-_]?key|access[-_]?key|secret|token$|passw(?:or)?d|passphrase|pwd$|authorization|bearer|credential"
    r"|private[-_]?key|auth[-_]?key|cookie|x-api-key|x-auth",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"^(?:bearer|basic|token|apikey)\s+", re.IGNORECASE)
IN_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@{}$]*:([^/\s@{}$]+)@", re.IGNORECASE)
"""A URL with a password; the group is the password."""
_QUERY = re.compile(r"[?&]([^=&#?]+)=([^&#]*)")
_PLACEHOLDER = re.compile(
    r"your[-_ ]|change[-_ ]?me|example|placeholder|dummy|sample|redacted|replace[-_ ]|insert[-_ ]|todo"
    r"|not[-_ ]?(?:needed|used|required|set)|unused|no[-_]?key|\.\.\.|…|xxx|\*\*\*|<[^>]*>|^(.)\1+$",
    re.IGNORECASE,
)
_SHORTEST = 8


@dataclass(frozen=True, slots=True)
class _Part:
    """One value of a document; paths are put together only where there is something to say."""

    value: object
    name: str
    """The nearest key above it."""
    key: str | int
    above: "_Part | None"

    @property
    def path(self) -> KeyPath:
        """Key path of the value."""
        keys: list[str | int] = []
        part: _Part | None = self
        while part is not None and part.above is not None:
            keys.append(part.key)
            part = part.above
        return tuple(reversed(keys))


def literal_secrets(data: Mapping[str, Any]) -> Iterator[Fault]:
    """Strings of a document that look like credentials; the message never holds them."""
    waiting = [_Part(data, "", "", None)]
    while waiting:
        part = waiting.pop()
        value = part.value
        if isinstance(value, dict):
            waiting.extend(_Part(item, str(key), key, part) for key, item in reversed(value.items()))
        elif isinstance(value, list):
            last = len(value) - 1
            waiting.extend(_Part(item, part.name, last - at, part) for at, item in enumerate(reversed(value)))
        elif isinstance(value, str) and len(value) >= _SHORTEST:
            what = secret_in(value) or _by_place(part, value)
            if what is not None:
                yield Fault(
                    part.path,
                    f"{_field(part.path)!r} holds {what} in the clear",
                    "take it from the environment (`${VAR}`), and replace it at its issuer: it has been in a file",
                )


def secret_in(text: str) -> str | None:
    """Say which kind of credential a text holds, told by shape alone."""
    if _HINT.search(text) is None:
        return None
    for found in SHAPES.finditer(text):
        if not _is_placeholder(found[0]):
            return "what looks like a " + (found.lastgroup or "credential").replace("_", " ")
    return None


def _field(path: KeyPath) -> str:
    names = [part for part in path if isinstance(part, str) and part not in ("spec", "steps")]
    return ".".join(names[-2:]) or "the document"


def _by_place(part: _Part, value: str) -> str | None:
    in_url = IN_URL.search(value) if "://" in value else None
    if in_url is not None and not _is_placeholder(in_url[1]) and len(in_url[1]) >= 6:
        return "a URL with a password"
    if "://" in value and any(names_a_credential(name) and _is_literal(given) for name, given in _QUERY.findall(value)):
        return "a URL with a key or token"
    if not names_a_credential(part.name) and not _in_auth(part):
        return None
    return "what looks like a password or token" if _is_literal(_SCHEME.sub("", value.strip())) else None


def _is_literal(text: str) -> bool:
    """Whether a text is a credential, rather than a template, a variable or a word in its place."""
    return not ("{{" in text or "${" in text or "\n" in text or _is_placeholder(text)) and looks_random(text)


@lru_cache(maxsize=1024)
def names_a_credential(name: str) -> bool:
    """Whether a field of this name holds a credential."""
    return _NAMES.search(name) is not None


def _in_auth(part: _Part) -> bool:
    """Whether the value is a credential of an `http.auth` block."""
    if part.name in ("username", "name"):
        return False
    above = part.above
    return above is not None and (above.key == "auth" or (above.above is not None and above.above.key == "auth"))


def _is_placeholder(text: str) -> bool:
    return _PLACEHOLDER.search(text) is not None


def looks_random(text: str) -> bool:
    """Whether a text is too mixed for words: letters and digits together, and hardly a character twice."""
    if len(text) < _SHORTEST or " " in text:
        return False
    letters, digits = any(map(str.isalpha, text)), any(map(str.isdecimal, text))
    if not (letters and digits):
        mixed = any(map(str.islower, text)) and any(map(str.isupper, text))
        return mixed and len(text) >= 20 and _entropy(text) >= 3.8
    return _entropy(text) >= (2.8 if len(text) < 20 else 3.0)


def _entropy(text: str) -> float:
    """Bits a character, by how often each occurs."""
    size = len(text)
    return -sum(count / size * math.log2(count / size) for count in Counter(text).values())
