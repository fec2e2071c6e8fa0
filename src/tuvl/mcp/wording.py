"""What went wrong with a server, in words a person can act on, without secrets or payloads."""

from collections.abc import Iterable, Mapping

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR

from tuvl.mcp.bridge import Refusal
from tuvl.mcp.fault import FaultKind, McpFault
from tuvl.redaction import redact
from tuvl.suggest import did_you_mean
from tuvl.values import JsonObject, shorten

_KINDS: Mapping[str, FaultKind] = {
    "timeout": "timeout",
    "invalid_request": "invalid_request",
    "response_too_large": "response_too_large",
    "bad_response": "bad_response",
}
_SHOWN_TOOLS = 20
CLOSED = "Connection closed"
"""What the SDK says of a connection that has ended, and then its session has ended, too."""

_OF_THE_SDK = frozenset(
    {
        CLOSED,
        "SSE stream ended without a response",
        "SSE stream ended and reconnection attempts were exhausted",
    }
)
"""What the SDK says in the name of a server that is gone; it uses a number that is free for servers, too."""


def says_lost(error: MCPError) -> bool:
    """Tell whether an error is the SDK's word for a connection that has ended, and no answer of the server."""
    return error.code == CONNECTION_CLOSED and error.message in _OF_THE_SDK


def refused(name: str, what: str, refusal: Refusal, error: MCPError | None = None) -> McpFault:
    """Explain an HTTP exchange that failed; `what` is the request, such as `the call of 'search'`."""
    if refusal.fault is not None:
        fault = refusal.fault
        kind = _KINDS.get(fault.kind, "connection")
        return McpFault(redact(f"{name}: {fault.message}"), kind=kind, sent=refusal.sent)
    detail: JsonObject = {"status": refusal.status}
    if refusal.status in {401, 403}:
        message = f"{name} answered {what} with {refusal.status}; see `headers` of its artifact"
        return McpFault(message, kind="unauthorized", detail=detail)
    said = f": {shorten(redact(error.message), 200)}" if error is not None else ""
    return McpFault(f"{name} answered {what} with {refusal.status}{said}", kind="rejected", detail=detail)


def rejected(name: str, what: str, error: MCPError) -> McpFault:
    """Explain an error of the protocol."""
    if error.code == PARSE_ERROR:
        return McpFault(f"{name} gave an answer to {what} that cannot be read", kind="bad_response", sent=True)
    message = f"{name} rejected {what}: {shorten(redact(error.message), 300)}"
    return McpFault(message, kind="rejected", detail={"code": error.code})


def no_such_tool(name: str, tool: str, offered: Iterable[str]) -> McpFault:
    """Name the tool that is not there, and what may have been meant."""
    names = list(offered)
    shown = ", ".join(repr(shorten(known, 64)) for known in names[:_SHOWN_TOOLS]) or "none"
    more = f" and {len(names) - _SHOWN_TOOLS} more" if len(names) > _SHOWN_TOOLS else ""
    hint = did_you_mean(tool, names) or f"it has {shown}{more}"
    return McpFault(f"{name} has no tool {tool!r}; {hint}", kind="no_such_tool")


def lost(reason: Exception) -> Exception:
    """Turn why a session ended into the failure of a call that was under way."""
    if isinstance(reason, McpFault):
        return McpFault(reason.message, kind=reason.kind, sent=True, detail=reason.detail)
    return reason
