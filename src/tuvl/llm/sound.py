"""A reply as the rest of the engine may take it: every text can be written down, every call can be answered.

Models, and the code around them, hand over halves of emoji, numbers that are none, and decoded arguments of any size.
"""

from dataclasses import replace
from operator import is_

from tuvl.llm.messages import ModelReply, ToolCall
from tuvl.values import JsonValue, dump_json, sound_text

UNREADABLE = "(arguments that have no JSON form)"
"""Stands for arguments that cannot even be written down; read as arguments, it is a mistake the model is told of."""


def sound_reply(reply: ModelReply) -> ModelReply:
    """Return the reply, with what cannot be stored or sent back made harmless; a sound one comes back as it is."""
    message = reply.message
    content = None if message.content is None else sound_text(message.content)
    calls = tuple(map(_sound_call, message.tool_calls))
    same = content is message.content and all(map(is_, calls, message.tool_calls)) and message.role == "assistant"
    if same:
        return reply
    sound = replace(message, role="assistant", content=content, tool_calls=calls, tool_call_id=None, name=None)
    return replace(reply, message=sound)


def _sound_call(call: ToolCall) -> ToolCall:
    # An id that is kept goes back exactly as it came; one that no record or header can hold counts as none.
    call_id = call.id if call.id.isprintable() else ""
    name = sound_text(call.name)
    arguments = _sound_arguments(call.arguments)
    if call_id is call.id and name is call.name and arguments is call.arguments:
        return call
    return replace(call, id=call_id, name=name, arguments=arguments)


def _sound_arguments(arguments: JsonValue) -> JsonValue:
    """Return arguments as text; lone surrogates in it are escaped, so that they are still refused when it is read."""
    if arguments is None:
        return None
    if isinstance(arguments, str):
        return _escaped(arguments)
    try:
        return _escaped(dump_json(arguments))
    except (TypeError, ValueError, RecursionError):
        return UNREADABLE


def _escaped(text: str) -> str:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace").decode()
    return text
