"""One HTTP request and its reply, as plain values; and what may stand in a header."""

import re
from collections.abc import Mapping
from dataclasses import field

from tuvl.dataclass import dataclass
from tuvl.http.fault import HttpFault
from tuvl.http.headers import header_problem

_VALUE = re.compile(r"[\t\x20-\x7e]*")

CREDENTIAL_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """What is sent. `credentials` names headers that stay behind when a redirect leads to another origin."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    credentials: frozenset[str] = CREDENTIAL_HEADERS
    """Header names in lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReply:
    """What came back, whatever its status. Header names are in lower case; repeated ones are joined by commas."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        """The type of the body, such as `application/json`; empty when the server named none."""
        return self.headers.get("content-type", "").split(";", 1)[0].strip().lower()

    @property
    def charset(self) -> str | None:
        """The charset the server named."""
        match = re.search(r"charset\s*=\s*\"?([^\s\";]+)", self.headers.get("content-type", ""), re.IGNORECASE)
        return match[1].lower() if match else None


def check_header(name: str, value: str) -> None:
    """Refuse a header that is the client's own, could smuggle another or cannot be sent; the value is never shown."""
    problem = header_problem(name)
    if problem is not None:
        raise HttpFault(f"header {name!r} {problem}", kind="invalid_request")
    if "\r" in value or "\n" in value:
        raise HttpFault(f"the value of header {name!r} holds a line break", kind="invalid_request")
    if not _VALUE.fullmatch(value):
        raise HttpFault(
            f"the value of header {name!r} holds characters other than printable ASCII; encode it, "
            "for example with the filter 'urlencode'",
            kind="invalid_request",
        )
