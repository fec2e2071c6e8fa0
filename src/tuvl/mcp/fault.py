"""Why a call to an MCP server gave no result."""

from collections.abc import Mapping
from typing import Literal

from tuvl.errors import TuvlError
from tuvl.values import JsonValue

FaultKind = Literal[
    "connection",
    "timeout",
    "no_such_tool",
    "rejected",
    "unauthorized",
    "invalid_request",
    "response_too_large",
    "bad_response",
]


class McpFault(TuvlError):
    """A call failed below the level of tool results.

    `kind` is the machine-readable reason: `connection` (the server could not be started or reached, or was lost),
    `timeout`, `no_such_tool`, `rejected` (the server answered with a protocol error), `unauthorized` (HTTP 401 or
    403), `invalid_request` (it cannot be sent as it is
    written), `response_too_large`, `bad_response` (what came back is not the protocol). `sent` tells whether the server
    may have begun to work on the call: its effect is unknown then. `detail` is further JSON, such as the end of what
    the server wrote to stderr; it and the message hold no registered secret.
    """

    def __init__(
        self, message: str, *, kind: FaultKind, sent: bool = False, detail: Mapping[str, JsonValue] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.sent = sent
        self.detail: dict[str, JsonValue] = dict(detail or {})
