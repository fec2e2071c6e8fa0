"""Whether a text can be the base URL of a service; nothing here is sent anywhere."""

import re
from urllib.parse import urlsplit

_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")
EXAMPLE = "https://host/v1"


def base_url_problem(text: str) -> str | None:
    """Say what keeps a text from being the base URL of an API, to go on after its name; `None` when nothing does.

    The text itself is not in the message: it may hold a password.
    """
    if "://" not in text or not text.lower().startswith(("http://", "https://")):
        return f"is not an http(s) URL, such as {EXAMPLE}"
    if _BLANK.search(text):
        return "has white space in it"
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return f"has a host or a port that is none; a URL is such as {EXAMPLE}"
    if not host:
        return f"names no host; a URL is such as {EXAMPLE}"
    if "@" in parts.netloc:
        return "holds a user name or a password; give a key as `api_key`, from a variable"
    if parts.query or parts.fragment:
        return "has a query or a fragment, and paths are added to its end"
    return None


def host_and_port(text: str) -> tuple[str, int] | None:
    """Return where a base URL leads; `None` for a text that names no host."""
    try:
        parts = urlsplit(text)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname else None
