"""Replies of models, and failures of their calls, as JSON that loses nothing; for a run's durable record."""

from collections.abc import Mapping
from typing import cast

from tuvl.errors import ModelError
from tuvl.llm.messages import FinishReason, Message, ModelReply, Role, ToolCall, Usage
from tuvl.values import JsonObject, JsonValue


def reply_to_json(reply: ModelReply) -> JsonObject:
    """Write a reply."""
    message, usage = reply.message, reply.usage
    return {
        "role": message.role,
        "content": message.content,
        "tool_calls": [
            {"id": call.id, "name": call.name, "arguments": call.arguments, "provider": dict(call.provider)}
            for call in message.tool_calls
        ],
        "provider": dict(message.provider),
        "finish_reason": reply.finish_reason,
        "model": reply.model,
        "usage": None if usage is None else _usage(usage),
    }


def reply_of(kept: JsonObject) -> ModelReply:
    """Read a reply."""
    usage = kept["usage"]
    return ModelReply(
        message=Message(
            role=cast(Role, kept["role"]),
            content=cast(str | None, kept["content"]),
            tool_calls=tuple(map(_call, cast(list[JsonObject], kept["tool_calls"]))),
            provider=cast(Mapping[str, JsonValue], kept["provider"]),
        ),
        finish_reason=cast(FinishReason, kept["finish_reason"]),
        usage=None if usage is None else _usage_of(cast(JsonObject, usage)),
        model=cast(str | None, kept["model"]),
    )


def error_to_json(error: ModelError) -> JsonObject:
    """Write why a call failed."""
    return {
        "type": error.type,
        "message": error.message,
        "retryable": error.retryable,
        "status": error.status,
        "retry_after_s": error.retry_after_s,
        "detail": error.detail,
        "sent": error.sent,
    }


def error_of(kept: JsonObject) -> ModelError:
    """Read why a call failed."""
    return ModelError(
        str(kept["message"]),
        type=str(kept["type"]),
        retryable=bool(kept["retryable"]),
        status=cast(int | None, kept["status"]),
        retry_after_s=cast(float | None, kept["retry_after_s"]),
        detail=cast(JsonObject, kept["detail"]),
        sent=bool(kept.get("sent", True)),
    )


def _call(kept: JsonObject) -> ToolCall:
    return ToolCall(
        id=str(kept["id"]),
        name=str(kept["name"]),
        arguments=kept["arguments"],
        provider=cast(Mapping[str, JsonValue], kept["provider"]),
    )


def _usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "cached_input_tokens": usage.cached_input_tokens,
        "cost_usd": usage.cost_usd,
        "estimated": usage.estimated,
    }


def _usage_of(kept: JsonObject) -> Usage:
    return Usage(
        input_tokens=cast(int, kept["input_tokens"]),
        output_tokens=cast(int, kept["output_tokens"]),
        total_tokens=cast(int, kept["total_tokens"]),
        cached_input_tokens=cast(int, kept["cached_input_tokens"]),
        cost_usd=cast(float | None, kept["cost_usd"]),
        estimated=bool(kept["estimated"]),
    )
