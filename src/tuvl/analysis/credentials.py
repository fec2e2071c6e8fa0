"""What a credential is, by its shape, by its place or by its look: one notion for whoever reports, locks or shows text.

Whatever is *reported* as a credential (`reads_as`) is *masked* as well (`masked_text`). Masked is more: all that a
place for credentials holds, such as `auth.basic.password`, whether it looks like one or not.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

from tuvl.values import JsonValue

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
_POINTERS = re.compile(r"(?:^|[-_.])(?:file|path|dir|url|uri|name|env)$|_?file$", re.IGNORECASE)
"""Ends of names that say where a credential is, rather than what it is: `password_file`."""
_PASSWORDS = re.compile(r"(?:^|[-_.])(?:passw(?:or)?d|passphrase|pwd|pass|bearer)$", re.IGNORECASE)
"""Names whose value is one, however it looks: people choose words."""
_SCHEME = re.compile(r"^(?:bearer|basic|token|apikey)\s+", re.IGNORECASE)
_IN_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@{}$]*:([^/\s@{}$]+)@", re.IGNORECASE)
_DEFAULT_IN_URL = re.compile(r"(?<=:)\$\{([A-Za-z_][A-Za-z0-9_]*):[^{}]*\}(?=@)")
_ASSIGNED = re.compile(r"([\w.-]+)=([^&\s,;\"']+)")
_DEFAULT = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*):[^{}]*\}")
_HOLES = re.compile(r"\$\{[^{}]*\}|\{\{.*?\}\}", re.DOTALL)
_PLACEHOLDER = re.compile(
    r"your[-_ ]|change[-_ ]?me|example|placeholder|dummy|sample|redacted|\(secret\)|replace[-_ ]|insert[-_ ]|todo"
    r"|not[-_ ]?(?:needed|used|required|set)|unused|no[-_]?key|\.\.\.|…|xxx|\*\*\*|<[^>]*>|^(.)\1+$",
    re.IGNORECASE,
)
_CONTAINERS = frozenset({"env", "headers", "args", "options", "connection", "query", "form", "auth"})
"""Keys below which names and values belong to a server, a service or a database."""
_REFERENCES = frozenset({"routes", "map", "mapping", "fields", "properties"})
"""Keys below which names are the author's and values name something else: a step, a key, a type."""
_NO_CREDENTIALS = frozenset({"required_scope", "required_group", "assignee_user", "username", "name"})
"""What `auth` has beside credentials."""
_RUN = re.compile(r"[A-Za-z0-9+_=]{12,}|[0-9a-fA-F-]{32,}")
_SHORTEST = 8
_SHORTEST_PASSWORD = 4
_SHORTEST_KEY = 6
_KEY_OF_A_MODEL = ("spec", "api_key")
"""Where a language model has its key: a short one counts there, too, and so in what a server has around it."""


# ---- what reads as one -----------------------------------------------------------------------------------------


def secret_in(text: str) -> str | None:
    """Say which kind of credential a text holds, told by shape alone."""
    if _HINT.search(text) is None:
        return None
    for found in SHAPES.finditer(text):
        if not _is_placeholder(found[0]):
            return "what looks like a " + (found.lastgroup or "credential").replace("_", " ")
    return None


def reads_as(text: str, names: Sequence[str]) -> str | None:
    """Say which kind of credential a text is or holds, in the place that `names`, outermost first, lead to."""
    if len(text) < _SHORTEST_PASSWORD:
        return None
    return (secret_in(text) if len(text) >= _SHORTEST else None) or _by_place(text, names)


def _by_place(text: str, names: Sequence[str]) -> str | None:
    if "://" in text:
        in_url = _IN_URL.search(text)
        if in_url is not None and not _is_placeholder(in_url[1]) and len(in_url[1]) >= _SHORTEST_PASSWORD:
            return "a URL with a password"
        if any(names_a_credential(name) and _is_literal(given) for name, given in _ASSIGNED.findall(text)):
            return "a URL with a key or token"
    last = names[-1] if names else ""
    if _in_container(names):
        if "=" in text and any(_is_given(name, value) for name, value in _ASSIGNED.findall(text)):
            return "what looks like a password or token"
        if _is_given(last, _SCHEME.sub("", text.strip())):
            return "what looks like a password or token"
    of_a_server = "env" in names[:-1] and names_a_credential(last)
    if (of_a_server or tuple(names) == _KEY_OF_A_MODEL) and _is_short_key(text):
        return "what looks like a password or token"
    if not names_a_credential(last) and not _in_auth(names):
        return None
    return "what looks like a password or token" if _is_literal(_SCHEME.sub("", text.strip())) else None


def _is_given(name: str, value: str) -> bool:
    """Whether a name that says so is given a credential in the clear: of a password, any word will do."""
    if not names_a_credential(name):
        return False
    if _PASSWORDS.search(name) is None:
        return _is_literal(value)
    return len(value) >= _SHORTEST_PASSWORD and " " not in value and _is_in_the_clear(value)


def _is_short_key(text: str) -> bool:
    """Whether a text is more than one of the words that stand for no key, such as `ollama` or `none`."""
    letters, digits = any(map(str.isalpha, text)), any(map(str.isdecimal, text))
    return len(text) >= _SHORTEST_KEY and " " not in text and letters and digits and _is_in_the_clear(text)


def _is_literal(text: str) -> bool:
    """Whether a text is a credential, rather than a template, a variable or a word in its place."""
    return _is_in_the_clear(text) and looks_random(text)


def _is_in_the_clear(text: str) -> bool:
    return not ("{{" in text or "${" in text or "\n" in text or _is_placeholder(text))


@lru_cache(maxsize=1024)
def names_a_credential(name: str) -> bool:
    """Whether a field, a variable or an option of this name holds a credential."""
    return _NAMES.search(name) is not None and _POINTERS.search(name) is None


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


# ---- what is masked --------------------------------------------------------------------------------------------


def item_names(value: Sequence[object], names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the names that lead to each item of a list: an item after `--token` is called so."""
    found = []
    said: object = ""
    for item in value:
        option = isinstance(said, str) and said.startswith("-") and "=" not in said
        found.append((*names, str(said).lstrip("-")) if option else names)
        said = item
    return found


def masked_value(value: JsonValue, names: tuple[str, ...], mask: Callable[[str, tuple[str, ...]], str]) -> JsonValue:
    """Return a JSON value with every text as `mask` gives it for the names that lead to it."""
    if isinstance(value, dict):
        return {key: masked_value(item, (*names, str(key)), mask) for key, item in value.items()}
    if isinstance(value, list):
        named = item_names(value, names)
        return [masked_value(item, below, mask) for item, below in zip(value, named, strict=True)]
    if isinstance(value, int | float) and not isinstance(value, bool) and is_closed(names):
        return mask(str(value), names)
    return mask(value, names) if isinstance(value, str) else value


def masked_text(text: str, names: Sequence[str], mask: str) -> str:
    """Return a text with every credential masked; variables and templates stay, a credential's default does not."""
    if is_closed(names):
        return _only_holes(text, mask)
    found = _DEFAULT_IN_URL.sub(lambda hole: f"${{{hole[1]}:{mask}}}", text) if "${" in text else text
    if "${" in found:
        found = _DEFAULT.sub(
            lambda hole: _without_default(hole, mask) if names_a_credential(hole[1]) else hole[0], found
        )
    found = SHAPES.sub(mask, found) if _HINT.search(found) is not None else found
    if "://" in found:
        found = _IN_URL.sub(lambda url: f"{url[0][: url.start(1) - url.start()]}{mask}@", found)
    if "=" in found:
        loose = "{{" in text or "{%" in text
        found = _ASSIGNED.sub(lambda given: _masked_assignment(given, mask, loose=loose), found)
    if _in_container(names):
        found = " ".join(mask if _is_one_run(word) and looks_random(word) else word for word in found.split(" "))
    return mask if found == text and reads_as(text, names) is not None else found


def _is_one_run(word: str) -> bool:
    """Whether a word is no path, package, version or name of several words: those are what a lock is there for."""
    return _RUN.fullmatch(word) is not None


def _masked_assignment(given: re.Match[str], mask: str, *, loose: bool) -> str:
    name, value = given[1], given[2]
    if "${" in value or "{{" in value or not names_a_credential(name) or value == mask:
        return given[0]
    # Among the code of a template `token=args.token` is none.
    return given[0] if loose and not looks_random(value) else f"{name}={mask}"


def is_closed(names: Sequence[str]) -> bool:
    """Whether a place is for credentials: nothing of what stands there is shown but variables and templates."""
    if not names or names[-1] in _NO_CREDENTIALS:
        return False
    if "auth" in names[:-1]:
        return True
    named = names_a_credential(names[-1]) and not names[-1].startswith(("max_", "token_budget"))
    return named and _REFERENCES.isdisjoint(names[:-1])


def _in_auth(names: Sequence[str]) -> bool:
    return "auth" in names[-3:-1] and names[-1] not in _NO_CREDENTIALS


def _in_container(names: Sequence[str]) -> bool:
    return not _CONTAINERS.isdisjoint(names)


def _only_holes(text: str, mask: str) -> str:
    pieces: list[str] = []
    at = 0
    for hole in _HOLES.finditer(text):
        pieces += [_bare(text[at : hole.start()], mask), _DEFAULT.sub(lambda one: _without_default(one, mask), hole[0])]
        at = hole.end()
    return "".join([*pieces, _bare(text[at:], mask)])


def _bare(text: str, mask: str) -> str:
    """Mask what stands between variables; the name of a scheme is no secret."""
    kept = text.strip()
    if not kept or _SCHEME.fullmatch(f"{kept} ") is not None:
        return text
    return text.replace(kept, mask)


def _without_default(found: re.Match[str], mask: str) -> str:
    return f"${{{found[1]}:{mask}}}"
