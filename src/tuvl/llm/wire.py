"""The chat-completions dialect: our messages → its JSON, and its replies, with all their quirks, → ours."""

import json
from collections.abc import Mapping
from typing import cast

from tuvl.errors import ModelError
from tuvl.llm.failures import bad_response, error_text, not_json, status_failure
from tuvl.llm.messages import FinishReason, Message, ModelReply, ToolCall, ToolSpec, Usage
from tuvl.llm.reported import Count, read_count, usage_of
from tuvl.values import JsonObject, JsonValue, dump_json, sound_text

MAX_REPLY_BYTES = 32 * 1024 * 1024
"""Size past which a reply is not read."""

_OURS = frozenset({"role", "content", "tool_calls", "function_call", "name", "refusal", "audio", "annotations"})
"""Fields of an assistant message that we read ourselves, or that providers send but do not take back."""

_CALL_FIELDS = frozenset({"id", "type", "function", "index"})

_FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "max_output_tokens": "length",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "guardrail_intervened": "content_filter",
    "refusal": "content_filter",
}


def encode_message(message: Message) -> JsonObject:
    """Write one message of the history."""
    data: JsonObject = {"role": message.role, "content": message.content}
    if message.role == "tool":
        data["content"] = message.content or ""
        data["tool_call_id"] = message.tool_call_id or ""
    elif message.role == "assistant":
        data.update(message.provider)
        if message.tool_calls:
            data["tool_calls"] = [_encode_call(call) for call in message.tool_calls]
        elif message.content is None:
            data["content"] = ""  # an assistant message without calls must have a text
    elif message.name:
        data["name"] = message.name
    return data


def _encode_call(call: ToolCall) -> JsonObject:
    function: JsonObject = {"name": call.name, "arguments": arguments_text(call.arguments)}
    return {**call.provider, "id": call.id, "type": "function", "function": function}


def arguments_text(arguments: JsonValue) -> str:
    """Write arguments the way every provider takes them: the text of a JSON object, `{}` for what is none."""
    if isinstance(arguments, dict):
        return dump_json(arguments)
    if isinstance(arguments, str):
        try:
            if isinstance(json.loads(arguments), dict):
                return arguments
        except (ValueError, RecursionError):
            pass  # the raw text stays in the trace; a provider would refuse the whole history for it
    return "{}"


def encode_tool(tool: ToolSpec) -> JsonObject:
    """Write one offered tool."""
    function: JsonObject = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def read_reply(body: bytes, *, model: str, status: int, content_type: str = "") -> ModelReply:
    """Read the body of a successful answer; raises `ModelError` for one that is no reply."""
    try:
        data = read_json(body.decode("utf-8-sig", errors="replace"))
    except ValueError:
        start = body[:100].decode("utf-8-sig", errors="replace")
        raise not_json(model, start, status=status, content_type=content_type) from None
    return parse_reply(data, model=model)


def parse_reply(data: JsonValue, *, model: str) -> ModelReply:
    """Read a reply; raises `ModelError` for one that holds no message, an error under status 200 included."""
    if not isinstance(data, dict):
        raise bad_response(model, "the reply is not a JSON object", status=200)
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices:
        if data.get("error"):
            raise error_reply(data, model)
        raise bad_response(model, "the reply holds no choice", status=200)
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    reason = choice.get("finish_reason") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        if _finish(reason, called=False) == "content_filter":
            raise ModelError(
                f"model {model!r}: the provider withheld the reply (finish reason {reason!r})",
                type="content_filter",
                retryable=False,
                status=200,
            )
        raise bad_response(model, "the reply's choice holds no message", status=200)
    calls = _calls(message)
    named = data.get("model")
    return ModelReply(
        message=Message(
            role="assistant",
            content=_content(message),
            tool_calls=calls,
            provider={key: value for key, value in message.items() if key not in _OURS and not _empty(value)},
        ),
        finish_reason=_finish(reason, called=bool(calls)),
        usage=parse_usage(data.get("usage")),
        model=named if isinstance(named, str) else None,
    )


def error_reply(data: JsonObject, model: str) -> ModelError:
    """Read an error that came under status 200; some gateways put the real status, or none, into the body."""
    error = data["error"]
    code, kind = (error.get("code"), error.get("type")) if isinstance(error, dict) else (None, None)
    status = _status(code)
    if status is not None:
        return status_failure(model, status, dump_json(data))
    reason = f"error in place of a reply: {error_text(dump_json(data))}"
    for name in (code, kind):
        if isinstance(name, str) and name in _PASSING:
            return ModelError(f"model {model!r}: {reason}", type=_PASSING[name], retryable=True, status=200)
    return bad_response(model, reason, status=200)


def _status(code: JsonValue) -> int | None:
    if isinstance(code, str) and code.isdecimal():
        code = int(code)
    return code if isinstance(code, int) and 400 <= code < 600 else None


_PASSING: Mapping[str, str] = {
    "api_error": "server_error",
    "internal_error": "server_error",
    "internal_server_error": "server_error",
    "overloaded_error": "server_error",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "server_error": "server_error",
    "service_unavailable": "server_error",
}
"""Names of errors that may pass, where no status tells."""


def _empty(value: JsonValue) -> bool:
    return value is None or value == [] or value == {}


def _finish(reason: JsonValue, *, called: bool) -> FinishReason:
    if reason is None:
        return "tool_calls" if called else "stop"
    return _FINISH.get(str(reason).lower(), "other")


def _content(message: JsonObject) -> str | None:
    """Join the text parts; a refusal is the text when there is no other."""
    content = message.get("content")
    if isinstance(content, str):
        text: str | None = content
    elif isinstance(content, list):
        text = "".join(part_text(part) for part in content)
    else:
        text = None
    refusal = message.get("refusal")
    if not text and isinstance(refusal, str) and refusal:
        text = refusal
    return text if text is None else sound_text(text)


def part_text(part: JsonValue) -> str:
    """Return the text of one part of a content that is a list; empty for a part that is no text."""
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type", "text") in {"text", "output_text"}:
        text = part.get("text")
        return text if isinstance(text, str) else ""
    return ""


def _calls(message: JsonObject) -> tuple[ToolCall, ...]:
    found = message.get("tool_calls")
    if isinstance(found, list) and found:
        entries = [entry for entry in found if isinstance(entry, dict)]
        # Sorting is stable: calls without an index, or with equal ones, keep the order they came in.
        return tuple(_call(entry) for entry in sorted(entries, key=_index))
    legacy = message.get("function_call")
    return (_call({"function": legacy}),) if isinstance(legacy, dict) else ()


def _index(entry: JsonObject) -> float:
    index = entry.get("index")
    return index if isinstance(index, int | float) and not isinstance(index, bool) else -1


def _call(entry: JsonObject) -> ToolCall:
    function = entry.get("function")
    if not isinstance(function, dict):
        function = entry
    call_id, name = entry.get("id"), function.get("name")
    return ToolCall(
        id=call_id if isinstance(call_id, str) else "",
        name=name if isinstance(name, str) else "",
        arguments=function.get("arguments"),
        provider={
            key: value
            for key, value in entry.items()
            if key not in _CALL_FIELDS and function is not entry and not _empty(value)
        },
    )


def parse_usage(data: JsonValue) -> Usage | None:
    """Read reported usage; `None` when nothing was reported that can be used, as `llm.reported` has it."""
    if not isinstance(data, dict):
        return None
    details = data.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return usage_of(
        _count(data, "prompt_tokens", "input_tokens"),
        _count(data, "completion_tokens", "output_tokens"),
        read_count(data.get("total_tokens")),
        cached=cached or data.get("prompt_cache_hit_tokens"),
    )


def _count(data: JsonObject, name: str, other: str) -> Count:
    """Read a number that goes by one of two names."""
    found, beside = read_count(data.get(name)), read_count(data.get(other))
    return found if found.value or not beside.value else beside


# NaN and infinities are not JSON; as null they are ignored wherever they stand.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


def read_json(text: str) -> JsonValue:
    """Read a reply's body; raises `ValueError`."""
    try:
        return cast(JsonValue, _DECODER.decode(text))
    except RecursionError:
        raise ValueError("nested too deeply") from None
