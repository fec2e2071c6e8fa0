"""A script of replies: what a scripted model says, and to which request; read from YAML, JSON or a preset."""

from collections.abc import Mapping, Sequence
from typing import cast, get_args

from tuvl.dataclass import dataclass
from tuvl.errors import ConfigError
from tuvl.llm.messages import FinishReason, Message, Role, ToolCall, Usage
from tuvl.suggest import did_you_mean
from tuvl.values import JsonObject, JsonValue, dump_json

RETRYABLE = frozenset({"timeout", "connection", "rate_limited", "server_error"})
"""Types of failure after which another attempt may help, unless a script says otherwise."""

_REPLY_FIELDS = (
    "when",
    "text",
    "json",
    "tool_calls",
    "usage",
    "finish_reason",
    "delay_s",
    "word_delay_s",
    "error",
    "provider",
    "model",
    "request",
)
"""`provider`, `model` and `request` are what a recording adds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedFailure:
    """A failure in place of a reply."""

    type: str = "server_error"
    message: str = "scripted failure"
    status: int | None = None
    retryable: bool | None = None
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """Which request a reply answers: all that is given must hold of the last message."""

    role: Role | None = None
    contains: str | None = None
    tool: str | None = None

    def holds(self, messages: Sequence[Message]) -> bool:
        """Whether the last of these messages is the one that is meant."""
        if not messages:
            return False
        last = messages[-1]
        if self.role is not None and last.role != self.role:
            return False
        if self.contains is not None and self.contains not in (last.content or ""):
            return False
        return self.tool is None or self.tool == tool_of(last, messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedReply:
    """One reply of a script; a call without an id gets one when the reply is given."""

    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish_reason: FinishReason | None = None
    delay_s: float = 0.0
    word_delay_s: float = 0.0
    failure: ScriptedFailure | None = None
    when: When | None = None
    provider: JsonObject | None = None
    model: str | None = None
    request: JsonObject | None = None


def tool_of(message: Message, messages: Sequence[Message]) -> str | None:
    """Return the name of the tool whose result a message is."""
    if message.role != "tool":
        return None
    if message.name:
        return message.name
    for earlier in reversed(messages):
        for call in earlier.tool_calls:
            if call.id == message.tool_call_id:
                return call.name
    return None


def parse_script(data: JsonValue, *, where: str) -> tuple[ScriptedReply, ...]:
    """Read a list of replies, or a mapping with `replies`; raises `ConfigError` naming the reply and field."""
    found = data.get("replies") if isinstance(data, dict) else data
    if not isinstance(found, list):
        raise ConfigError(f"{where} is no list of replies; write a list, or a mapping with 'replies'")
    return tuple(_reply(item, f"{where}: reply {number}") for number, item in enumerate(found, 1))


def _reply(item: JsonValue, where: str) -> ScriptedReply:
    if isinstance(item, str):
        return ScriptedReply(text=item)
    entry = _mapping(item, where, _REPLY_FIELDS)
    if entry.get("text") is not None and "json" in entry and entry["json"] is not None:
        raise ConfigError(f"{where} has both 'text' and 'json'; keep one")
    text = _text(entry, "text", where)
    if entry.get("json") is not None:
        text = dump_json(entry["json"])
    failure = _failure(entry["error"], where) if entry.get("error") is not None else None
    calls = entry.get("tool_calls") or []
    if not isinstance(calls, list):
        raise ConfigError(f"{where}: 'tool_calls' is not a list")
    provider = entry.get("provider")
    request = entry.get("request")
    return ScriptedReply(
        text=text,
        calls=tuple(_call(call, f"{where}, tool call {number}") for number, call in enumerate(calls, 1)),
        usage=_usage(entry["usage"], where) if entry.get("usage") is not None else None,
        finish_reason=cast(FinishReason | None, _choice(entry, "finish_reason", where, get_args(FinishReason))),
        delay_s=_number(entry, "delay_s", where) or 0.0,
        word_delay_s=_number(entry, "word_delay_s", where) or 0.0,
        failure=failure,
        when=_when(entry["when"], where) if entry.get("when") is not None else None,
        provider=provider if isinstance(provider, dict) else None,
        model=_text(entry, "model", where),
        request=request if isinstance(request, dict) else None,
    )


def _when(item: JsonValue, where: str) -> When:
    if isinstance(item, str):
        return When(contains=item)
    entry = _mapping(item, f"{where}, 'when'", ("role", "contains", "tool"))
    role = _choice(entry, "role", where, get_args(Role))
    return When(
        role=cast(Role | None, role),
        contains=_text(entry, "contains", where),
        tool=_text(entry, "tool", where),
    )


def _call(item: JsonValue, where: str) -> ToolCall:
    entry = _mapping(item, where, ("id", "name", "arguments", "provider"))
    provider = entry.get("provider")
    arguments = entry.get("arguments")
    return ToolCall(
        id=_text(entry, "id", where) or "",
        name=_text(entry, "name", where) or "",
        # A mapping is sent the way models send it; a text as it stands, so that a script can hold a broken one.
        arguments=dump_json(arguments) if isinstance(arguments, dict) else arguments,
        provider=provider if isinstance(provider, dict) else {},
    )


def _usage(item: JsonValue, where: str) -> Usage:
    fields = ("input_tokens", "output_tokens", "total_tokens", "cached_input_tokens", "cost_usd")
    where = f"{where}, 'usage'"
    entry = _mapping(item, where, fields)
    inputs, outputs, total, cached = (int(_number(entry, name, where) or 0) for name in fields[:4])
    return Usage(
        input_tokens=inputs,
        output_tokens=outputs,
        total_tokens=total or inputs + outputs,
        cached_input_tokens=cached,
        cost_usd=_number(entry, "cost_usd", where),
    )


def _failure(item: JsonValue, where: str) -> ScriptedFailure:
    where = f"{where}, 'error'"
    entry = _mapping(item, where, ("type", "message", "status", "retryable", "retry_after_s"))
    status = _number(entry, "status", where)
    return ScriptedFailure(
        type=_text(entry, "type", where) or "server_error",
        message=_text(entry, "message", where) or "scripted failure",
        status=None if status is None else int(status),
        retryable=_flag(entry, "retryable", where),
        retry_after_s=_number(entry, "retry_after_s", where),
    )


def _mapping(item: JsonValue, where: str, fields: Sequence[str]) -> Mapping[str, JsonValue]:
    if not isinstance(item, dict):
        raise ConfigError(f"{where} is not a mapping")
    for key in item:
        if key not in fields:
            hint = did_you_mean(key, fields)
            raise ConfigError(f"{where} has an unknown field {key!r}" + (f"; {hint}" if hint else ""))
    return item


def _text(entry: Mapping[str, JsonValue], name: str, where: str) -> str | None:
    value = entry.get(name)
    if value is None or isinstance(value, str):
        return value
    raise ConfigError(f"{where}: {name!r} is not text")


def _flag(entry: Mapping[str, JsonValue], name: str, where: str) -> bool | None:
    value = entry.get(name)
    if value is None or isinstance(value, bool):
        return value
    raise ConfigError(f"{where}: {name!r} is not true or false")


def _number(entry: Mapping[str, JsonValue], name: str, where: str) -> float | None:
    value = entry.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"{where}: {name!r} is not a number")
    return value


def _choice(entry: Mapping[str, JsonValue], name: str, where: str, allowed: Sequence[str]) -> str | None:
    value = entry.get(name)
    if value is not None and value not in allowed:
        raise ConfigError(f"{where}: {name!r} is not one of {', '.join(allowed)}")
    return cast(str | None, value)
