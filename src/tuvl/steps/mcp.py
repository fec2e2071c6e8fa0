"""MCP: one call of a server's tool, and its result as context keys."""

import json
from typing import Literal, TypeAlias

from tuvl.errors import StepError
from tuvl.mcp.fault import McpFault
from tuvl.mcp.reply import McpReply
from tuvl.plan.model import McpPlan
from tuvl.redaction import redact
from tuvl.steps.api_reply import delta_of
from tuvl.steps.base import StepFailure, StepResult, StepScope
from tuvl.tools.schema import ValueSchema, schema_problem
from tuvl.values import JsonObject, JsonValue, NotJsonError, dump_json, json_size, shorten, to_json, truncate

MAX_DETAIL_BYTES = 64 * 1024
"""How much of a failed result `_last_error_detail` keeps; more of it is kept as text, cut."""

_MESSAGE_CHARS = 400

FailureType: TypeAlias = Literal["mcp_tool_error", "bad_response"]


async def run_mcp(scope: StepScope) -> StepResult:
    """Run one call; raises `StepError`, `TemplateError` or `ConfigError` when there is no result."""
    plan = scope.step.action
    assert isinstance(plan, McpPlan)
    arguments = plan.arguments.render(scope.values)
    if not isinstance(arguments, dict):
        raise StepError("'mcp.arguments' is no mapping of names to values", type="invalid_request")
    try:
        reply = await scope.services.mcp.call(plan.server, plan.tool, arguments, timeout_s=plan.timeout_s)
    except McpFault as fault:
        raise _no_result(fault) from fault
    try:
        value = to_json(reply.value, where="the result")
    except NotJsonError as error:
        return _failed("bad_response", f"{_label(plan)}: {error}", {})
    if reply.failed:
        said = shorten(reply.text, _MESSAGE_CHARS) or "no text with it"
        return _failed("mcp_tool_error", f"{_label(plan)} reported an error: {said}", {"content": _bounded(value)})
    problem = _misfit(reply, value)
    if problem is not None:
        message = f"{_label(plan)}: the result does not fit the schema the server declares for it: {problem}"
        return _failed("bad_response", message, {})
    try:
        return StepResult(
            delta=delta_of(value, plan.response, inside=_inside(value) if plan.response.extract else None)
        )
    except StepError as error:
        return _failed("bad_response", f"{_label(plan)}: {error.message}", {})


def _inside(value: JsonValue) -> JsonValue:
    """Read the JSON that many servers put into a text; `None` when it is none."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return None
    try:
        return to_json(json.loads(value), where="the text")
    except (ValueError, RecursionError, NotJsonError):
        return None


def _no_result(fault: McpFault) -> StepError:
    message, detail = fault.message, dict(fault.detail)
    if fault.sent and fault.kind in {"connection", "timeout"}:
        message += "; the tool may have acted, so the effect is unknown"
        detail["effect"] = "unknown"
    return StepError(redact(message), type=fault.kind, detail=detail)


def _failed(type: FailureType, message: str, detail: JsonObject) -> StepResult:
    return StepResult(signal="error", failure=StepFailure(type=type, message=redact(message), detail=detail))


def _bounded(value: JsonValue) -> JsonValue:
    if json_size(value) <= MAX_DETAIL_BYTES:
        return value
    return truncate(redact(dump_json(value)), MAX_DETAIL_BYTES, MAX_DETAIL_BYTES)[0]


def _misfit(reply: McpReply, value: JsonValue) -> str | None:
    """Say how a structured result breaks the schema its own server declares; a schema that is none proves nothing."""
    schema = reply.output_schema
    if not reply.structured or schema is None or schema_problem(schema) is not None:
        return None
    return "; ".join(str(violation) for violation in ValueSchema(schema).violations(value)) or None


def _label(plan: McpPlan) -> str:
    return f"tool {plan.tool!r} of {plan.server.reference!r}"
