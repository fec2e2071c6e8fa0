"""Values that are masked for the name they stand under: `api_key`, `API-Key` and `apiKey` are one name."""

import re
from collections.abc import Iterable

from tuvl.linear_regex import LinearRegex
from tuvl.redaction import MASK

CREDENTIALS = frozenset(
    {
        "accesskey",
        "accesstoken",
        "apikey",
        "apitoken",
        "authorization",
        "authtoken",
        "cardnumber",
        "clientsecret",
        "creditcard",
        "creditcardnumber",
        "cvc",
        "cvv",
        "idtoken",
        "passphrase",
        "passwd",
        "password",
        "privatekey",
        "proxyauthorization",
        "pwd",
        "refreshtoken",
        "secret",
        "secretaccesskey",
        "secretkey",
        "setcookie",
        "ssn",
        "token",
    }
)
"""Names that always stand for something secret, as `plain_name` writes them."""

_MASK = MASK.encode()
_NOT_IN_NAME = re.compile(r"[^a-z0-9\u0080-\U0010ffff]+")
_HEAD_END = re.compile(rb"(?P<quote>\\*[\"'])?[ \t\r\n]*[:=][ \t\r\n]*\Z")
_QUOTE = re.compile(rb"(?P<slashes>\\*)(?P<mark>[\"'])")
_BARE = re.compile(rb"[^\s,;&<>{}\[\]()\"'\\\x00]+")
_SCHEME = re.compile(rb"(?:bearer|basic|digest|token)[ \t]+(?=[^\s,;&<>{}\[\]()\"'\\\x00])", re.IGNORECASE)
_BRACKETS = re.compile(rb"[{}\[\]\x00]|\\*[\"']")


def plain_name(name: str) -> str:
    """Write a name without case and separators."""
    return _NOT_IN_NAME.sub("", name.lower())


class FieldNames:
    """The names whose values are masked: those that are given, and the usual ones of credentials."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = CREDENTIALS | {plain for name in names if (plain := plain_name(name))}
        self._known: dict[str, bool] = {}
        self._head = LinearRegex(_head_pattern(self._names))

    def holds(self, name: str) -> bool:
        """Whether values under this name are masked."""
        known = self._known.get(name)
        if known is None:
            known = plain_name(name) in self._names
            if len(self._known) < 1000:  # names are few, unless somebody makes them up
                self._known[name] = known
        return known

    def mask(self, text: bytes) -> bytes:
        """Mask what follows `name:` and `name=` in text that is no JSON as a whole, or is broken JSON.

        The value is a quoted text, at whatever depth of escaping, an object or list up to its end, or one word.
        """
        pieces: list[bytes] = []
        end = 0
        while (head := self._head.first(text, end)) is not None:
            start = head[1]
            stop, masked = _value(text, head[0], start)
            if rest := _BARE.match(text, stop) if stop > start else None:
                # What sticks to a value is part of it.
                stop, masked = rest.end(), _MASK if masked == text[start:stop] else masked
            pieces += (text[end:start], masked)
            end = max(stop, start)
        return b"".join((*pieces, text[end:])) if pieces else text


def _head_pattern(names: Iterable[str]) -> str:
    spelt = "|".join("[-_ .]?".join(re.escape(letter) for letter in name) for name in sorted(names))
    return rf"(?i)(?:^|[^\pL\pN_.\-])(?:{spelt})\\*[\"']?[ \t\r\n]*[:=][ \t\r\n]*"


def _value(text: bytes, head: int, start: int) -> tuple[int, bytes]:
    """Return where the value that begins at `start` ends, and what takes its place."""
    quote = _QUOTE.match(text, start)
    if quote is not None:
        inside = quote.end()
        stop, closing = _string_end(text, inside, len(quote["slashes"]), quote["mark"])
        return stop, quote[0] + _MASK + closing if stop > inside + len(closing) else text[start:stop]
    opened = _HEAD_END.search(text, head, start)
    mark = opened["quote"] or b"" if opened else b""
    if text[start : start + 1] in (b"{", b"["):
        return _brackets_end(text, start), mark + _MASK + mark
    scheme = _SCHEME.match(text, start)
    bare = _BARE.match(text, scheme.end() if scheme else start)
    if bare is None or bare[0] in (_MASK, b"null"):
        return (bare.end() if bare else start), text[start : bare.end() if bare else start]
    return bare.end(), mark + _MASK + mark


def _string_end(text: bytes, start: int, slashes: int, mark: bytes) -> tuple[int, bytes]:
    """Return where a quoted text ends, and its closing quote; one that is not closed ends with its line."""
    for found in re.compile(rb"[\n\x00]|\\*" + mark).finditer(text, start):
        if found[0] in (b"\n", b"\x00"):
            return found.start(), b""
        # A quote of this depth of escaping has as many backslashes, on top of those that escape one another.
        before = len(found[0]) - 1
        if before >= slashes and (before - slashes) % (2 * (slashes + 1)) == 0:
            return found.end(), b"\\" * slashes + mark
    return len(text), b""


def _brackets_end(text: bytes, start: int) -> int:
    """Return where an object or a list ends; one that is not closed ends with the text."""
    depth, position = 0, start
    while (found := _BRACKETS.search(text, position)) is not None:
        position = found.end()
        match found[0]:
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth -= 1
                if depth == 0:
                    return position
            case b"\x00":
                return found.start()
            case quote:
                position, _ = _string_end(text, position, len(quote) - 1, quote[-1:])
    return len(text)
