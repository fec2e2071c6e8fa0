"""Which headers a call may not set; one answer for the checks and for whoever sends."""

import re

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")

_HOST = "the URL says which host is called, and policies judge that one"
_FRAMING = "the client says itself where a request ends, and what becomes of the connection"

_OF_THE_CLIENT = {
    "host": _HOST,
    **dict.fromkeys(("content-length", "transfer-encoding", "te", "trailer", "expect"), _FRAMING),
    **dict.fromkeys(("connection", "keep-alive", "proxy-connection", "upgrade", "http2-settings"), _FRAMING),
}
"""Names in lower case → why nobody else sets them."""


def header_problem(name: str) -> str | None:
    """Say why no call can be made with a header of that name, to go on after the name; `None` when one can."""
    if not _NAME.fullmatch(name):
        return "cannot be the name of a header"
    why = _OF_THE_CLIENT.get(name.lower())
    return None if why is None else f"is not for a file to set: {why}"
