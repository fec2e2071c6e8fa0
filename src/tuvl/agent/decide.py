"""A reply → the next move of the loop. Pure: it changes nothing but the list of ids already used."""

import re
from dataclasses import replace
from typing import TypeAlias

from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.llm.messages import Message, ModelReply, ToolCall
from tuvl.tools.arguments import read_arguments
from tuvl.tools.toolbox import RequestedCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The reply asks for no tool: its text is the answer."""

    message: Message
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTools:
    """The reply asks for tools. `message` is fit to go back to the provider: unique ids, sound arguments."""

    message: Message
    calls: tuple[RequestedCall, ...]


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]+")

NextMove: TypeAlias = Finish | CallTools


def next_move(reply: ModelReply, used_ids: set[str]) -> NextMove:
    """Read a reply. A cut-off or filtered one is no answer and runs nothing: it raises a `StepError`."""
    if reply.finish_reason == "length":
        raise StepError(
            "the reply was cut off at its token limit (finish reason 'length'); raise max_output_tokens",
            type="truncated_reply",
        )
    if reply.finish_reason == "content_filter":
        raise StepError("the provider withheld the reply (finish reason 'content_filter')", type="content_filter")
    message = reply.message
    if not message.tool_calls:
        return Finish(message=message, text=message.content or "")
    requested = tuple(_request(call, used_ids) for call in message.tool_calls)
    history = tuple(
        ToolCall(id=call.id, name=call.name, arguments=call.arguments.history, provider=made.provider)
        for made, call in zip(message.tool_calls, requested, strict=True)
    )
    return CallTools(message=replace(message, tool_calls=history), calls=requested)


def _request(call: ToolCall, used_ids: set[str]) -> RequestedCall:
    call_id = call.id.strip()
    if not call_id or call_id in used_ids:
        call_id = _fresh_id(used_ids)
    used_ids.add(call_id)
    return RequestedCall(id=call_id, name=clean_name(call.name), arguments=read_arguments(call.arguments))


def _fresh_id(used_ids: set[str]) -> str:
    """Make an id that a replay makes again."""
    number = len(used_ids) + 1
    while f"call_{number}" in used_ids:
        number += 1
    return f"call_{number}"


def clean_name(name: str) -> str:
    """Trim a name, and reduce one that providers would refuse in the history to one they take.

    A reduced name begins with `_`, as no step's id does: what was asked for by a garbled name is never run.
    """
    name = name.strip()
    if _NAME.fullmatch(name):
        return name
    return "_" + (_NOT_IN_NAME.sub("_", name)[:63].strip("_") or "unnamed")
