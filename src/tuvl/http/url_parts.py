"""Where the expressions of a URL stand, told from its text alone; nothing here loads a template engine."""

import re
from urllib.parse import urlsplit

_AUTHORITY = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)
_UNSENDABLE = re.compile(r"[\x00-\x20\\\x7f]")


class UrlSyntaxError(ValueError):
    """A URL template that cannot be split; the message says why."""


def split_url(text: str) -> tuple[str, ...]:
    """Cut a URL into its literal pieces and its `{{ … }}` expressions, in order.

    Raises `UrlSyntaxError` for a statement, a comment, or an expression that is never closed.
    """
    pieces: list[str] = []
    rest = text
    while rest:
        start = rest.find("{{")
        literal = rest if start < 0 else rest[:start]
        if "{%" in literal or "{#" in literal:
            raise UrlSyntaxError("a URL takes expressions '{{ … }}' only, no statements or comments")
        if literal:
            pieces.append(literal)
        if start < 0:
            break
        end = _end_of_expression(rest, start)
        if end < 0:
            raise UrlSyntaxError("'{{' is never closed by '}}'")
        pieces.append(rest[start:end])
        rest = rest[end:]
    return tuple(pieces)


def host_is_templated(text: str) -> bool:
    """Whether an expression stands before the end of the host, wholly or in part."""
    before = ""
    for piece in split_url(text):
        if not piece.startswith("{{"):
            before += piece
        elif not past_authority(before):
            return True
    return False


def target_problem(url: str) -> str | None:
    """Say in a sentence why no call can be made to a URL, whatever stands there; `None` when nothing keeps it off."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "the URL is not well-formed"
    if parts.scheme not in {"http", "https"} or not host:
        return "the URL is not an absolute http(s) URL"
    if _UNSENDABLE.search(url):
        return "the URL holds a space, a backslash or a control character"
    if not host.isascii():
        # Two parsers may read such a host differently, and one of them decides what is allowed.
        return "the host is not ASCII; write its xn-- form"
    if parts.username is not None:
        return "the URL holds a user name; credentials go under 'auth'"
    return None


def past_authority(prefix: str) -> bool:
    """Whether what follows this beginning of a URL is its path, query or fragment."""
    match = _AUTHORITY.match(prefix)
    return match is not None and len(prefix) > match.end()


def path_of(url: str) -> str:
    """Return the path of a URL whose authority is complete."""
    match = _AUTHORITY.match(url)
    return re.split(r"[?#]", url[match.end() :] if match else url, maxsplit=1)[0]


def _end_of_expression(text: str, start: int) -> int:
    quote = ""
    index = start + 2
    depth = 0
    while index < len(text):
        char = text[index]
        if quote:
            if char == "\\":
                index += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char == "{":
            depth += 1
        elif char == "}" and depth:
            depth -= 1
        elif text.startswith("}}", index):
            return index + 2
        index += 1
    return -1
