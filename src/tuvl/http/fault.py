"""Why an HTTP exchange gave no usable reply."""

from typing import Literal

from tuvl.errors import TuvlError

FaultKind = Literal[
    "timeout", "connect", "lost", "address_refused", "response_too_large", "invalid_request", "bad_response"
]


class HttpFault(TuvlError):
    """An exchange failed below the level of statuses.

    `sent` tells whether any part of the request may have reached the server: when it did, and no reply came back,
    nobody knows whether the server acted on it. The message names hosts, never paths, headers or bodies.
    """

    def __init__(self, message: str, *, kind: FaultKind, sent: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.sent = sent
