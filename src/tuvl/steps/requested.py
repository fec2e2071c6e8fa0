"""What a step asks for outside of the run, as a digest, by which a record tells whether it is still the same."""

import hashlib
from collections.abc import Mapping
from typing import assert_never

from tuvl.errors import TuvlError
from tuvl.plan.model import ApiCallPlan, McpPlan, ModelOpPlan, StepPlan
from tuvl.spec.artifact import RemoteServer, StdioServer
from tuvl.steps.api_request import asked_for
from tuvl.templating.render import Template, TemplateTree
from tuvl.values import JsonObject, JsonValue, canonical


def request_of(step: StepPlan, values: Mapping[str, JsonValue]) -> str | None:
    """Return the SHA-256 of what a step asks for; `None` for one whose own code decides that."""
    try:
        asked = _asked(step, values)
    except TuvlError as error:
        # It will fail on that, too, before anything is sent; the message says what of its template is amiss.
        asked = {"unasked": str(error), "key": _key(step)}
    if asked is None:
        return None
    return hashlib.sha256(canonical([step.kind, asked]).encode("utf-8", "surrogatepass")).hexdigest()


def told_of(step: StepPlan, values: Mapping[str, JsonValue], arguments: JsonObject | None) -> JsonObject:
    """Return what a person is told of what a step asks for, its credentials left out.

    `arguments` are those of a model that calls it as a tool. Of an operation on records it is told which, and on what;
    what would be written may hold secure fields, which are masked nowhere before they are written.
    """
    try:
        asked = _asked(step, values) or {}
    except TuvlError:
        asked = {}  # the request cannot be made any more, and the question says that it is another one
    if isinstance(step.action, ModelOpPlan):
        return {name: asked[name] for name in ("operation", "model", "id") if asked.get(name) is not None}
    told: JsonObject = {} if arguments is None else {"arguments": arguments}
    return told | {name: value for name, value in asked.items() if name != "at" and value is not None}


def _asked(step: StepPlan, values: Mapping[str, JsonValue]) -> JsonObject | None:
    match step.action:
        case ApiCallPlan() as call:
            return asked_for(call, values)
        case McpPlan() as call:
            return {
                "server": call.server.reference,
                "at": _where(call.server.spec),
                "tool": call.tool,
                "arguments": call.arguments.render(values),
            }
        case ModelOpPlan() as operation:
            return {
                "operation": operation.operation,
                "source": operation.model.source.name,
                "model": operation.model.name,
                "table": operation.model.spec.tablename,
                "id": _rendered(operation.record_id, values),
                "payload": _rendered(operation.payload, values),
                "filters": _rendered(operation.filters, values),
                "include": list[JsonValue](operation.include),
                "order_by": list[JsonValue](operation.order_by),
                "limit": operation.limit,
            }
        case _:
            return None


def _where(server: StdioServer | RemoteServer) -> JsonValue:
    """Return what a server is started by, or its address: an artifact of the same version may be edited."""
    match server:
        case StdioServer():
            return [server.command, *server.args]
        case RemoteServer():
            return server.url
        case _:
            assert_never(server)


def _rendered(value: Template | TemplateTree | int | None, values: Mapping[str, JsonValue]) -> JsonValue:
    return value.render(values) if isinstance(value, Template | TemplateTree) else value


def _key(step: StepPlan) -> str | None:
    key = step.action.idempotency_key if isinstance(step.action, ApiCallPlan) else None
    return None if key is None else key.source
