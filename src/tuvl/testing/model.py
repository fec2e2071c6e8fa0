"""Replies for tests: `ScriptedModel([reply("hello")])`, with tool calls and failures as easily."""

from collections.abc import Mapping

from tuvl.llm.messages import FinishReason, Price, ToolCall, Usage
from tuvl.llm.script import ScriptedFailure, ScriptedReply, When
from tuvl.llm.scripted import ScriptedModel
from tuvl.values import JsonValue, dump_json

__all__ = ["Price", "ScriptedModel", "ScriptedReply", "Usage", "When", "call", "calls", "failing", "reply"]


def reply(
    text: JsonValue,
    *,
    tokens: int | None = None,
    finish_reason: FinishReason | None = None,
    delay_s: float = 0.0,
    when: When | None = None,
) -> ScriptedReply:
    """Answer with a text; anything else is sent as JSON. `tokens` is the usage reported, none by default."""
    return ScriptedReply(
        text=text if isinstance(text, str) else dump_json(text),
        usage=_usage(tokens),
        finish_reason=finish_reason,
        delay_s=delay_s,
        when=when,
    )


def call(name: str, arguments: Mapping[str, JsonValue] | str | None = None, *, id: str = "") -> ToolCall:
    """Make one tool call; a text is sent as the raw arguments, so that they may be broken."""
    raw = dump_json(dict(arguments)) if isinstance(arguments, Mapping) else arguments
    return ToolCall(id=id, name=name, arguments=raw)


def calls(
    name: str | ToolCall,
    arguments: Mapping[str, JsonValue] | str | None = None,
    *more: ToolCall,
    text: str | None = None,
    tokens: int | None = None,
    delay_s: float = 0.0,
    when: When | None = None,
) -> ScriptedReply:
    """Ask for a tool: `calls("lookup", {"id": 7})`, or for several: `calls(call("a"), None, call("b"))`."""
    first = name if isinstance(name, ToolCall) else call(name, arguments)
    return ScriptedReply(text=text, calls=(first, *more), usage=_usage(tokens), delay_s=delay_s, when=when)


def failing(
    type: str = "server_error",
    *,
    message: str = "scripted failure",
    status: int | None = None,
    retryable: bool | None = None,
    retry_after_s: float | None = None,
    delay_s: float = 0.0,
) -> ScriptedReply:
    """Fail with a `ModelError` of this type; whether it may be retried follows from the type unless given."""
    failure = ScriptedFailure(
        type=type, message=message, status=status, retryable=retryable, retry_after_s=retry_after_s
    )
    return ScriptedReply(failure=failure, delay_s=delay_s)


def _usage(tokens: int | None) -> Usage | None:
    return None if tokens is None else Usage(input_tokens=tokens, total_tokens=tokens)
