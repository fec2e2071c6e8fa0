"""The rules of the chat-completions API that providers enforce: what is wrong with a request, in words."""

import json
import re
from collections.abc import Iterator, Sequence

from tuvl.llm.messages import Message, ModelRequest
from tuvl.llm.wire import encode_message, encode_tool

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def faults(request: ModelRequest) -> list[str]:
    """Return every rule that a request breaks, as it would go over the wire."""
    body = {
        "model": "any",
        "messages": [encode_message(message) for message in request.messages],
        "tools": [encode_tool(tool) for tool in request.tools],
    }
    return [*_encoding(body), *_messages(body["messages"]), *_tools(body["tools"])]


def pairing_faults(messages: Sequence[Message]) -> list[str]:
    """Return what is wrong with the pairs of calls and results of a conversation."""
    return list(_pairs([encode_message(message) for message in messages]))


def _encoding(body: dict) -> Iterator[str]:
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        yield f"the request is not JSON: {error}"
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        yield "the request holds a lone surrogate"


def _messages(messages: list[dict]) -> Iterator[str]:
    if not messages:
        yield "there is no message"
    elif messages[-1]["role"] == "assistant":
        yield "the last message is the assistant's own"
    for index, message in enumerate(messages):
        where = f"message {index}"
        match message["role"]:
            case "system" | "user":
                if not isinstance(message["content"], str) or not message["content"]:
                    yield f"{where}: a {message['role']} message has no text"
            case "assistant":
                yield from _assistant(where, message)
            case "tool":
                if not isinstance(message["content"], str):
                    yield f"{where}: a result is no text"
            case role:
                yield f"{where}: unknown role {role!r}"
    yield from _pairs(messages)


def _assistant(where: str, message: dict) -> Iterator[str]:
    calls = message.get("tool_calls")
    content = message["content"]
    if content is not None and not isinstance(content, str):
        yield f"{where}: content is neither text nor null"
    if calls is None:
        if content is None:
            yield f"{where}: neither text nor calls"
        return
    if not calls:
        yield f"{where}: an empty list of calls"
    for call in calls:
        function = call["function"]
        if call["type"] != "function":
            yield f"{where}: a call of type {call['type']!r}"
        if not isinstance(call["id"], str) or not call["id"].strip():
            yield f"{where}: a call without an id"
        elif not call["id"].isprintable():
            yield f"{where}: an id that no header or log can hold"
        if not _NAME.fullmatch(function["name"]):
            yield f"{where}: the tool name {function['name']!r}"
        try:
            if not isinstance(json.loads(function["arguments"], parse_constant=_refuse), dict):
                yield f"{where}: arguments that are no object"
        except (ValueError, RecursionError):
            yield f"{where}: arguments that are not JSON"


def _pairs(messages: list[dict]) -> Iterator[str]:
    waiting: list[str] = []
    used: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if not waiting or waiting.pop(0) != message.get("tool_call_id"):
                yield f"message {index}: a result that answers no open call, or not in order"
            continue
        if waiting:
            yield f"message {index}: {len(waiting)} calls before it have no result"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        for call_id in waiting:
            if call_id in used:
                yield f"message {index}: the id {call_id!r} is used again"
            used.add(call_id)
    if waiting:
        yield f"{len(waiting)} calls have no result"


def _tools(tools: list[dict]) -> Iterator[str]:
    names = [tool["function"]["name"] for tool in tools]
    for name in names:
        if not _NAME.fullmatch(name):
            yield f"tool {name!r}: a name that providers refuse"
        if names.count(name) > 1:
            yield f"tool {name!r} is offered twice"
    for tool in tools:
        parameters = tool["function"]["parameters"]
        if parameters.get("type") != "object" or not isinstance(parameters.get("properties"), dict):
            yield f"tool {tool['function']['name']!r}: parameters are no object with properties"


def _refuse(constant: str) -> None:
    raise ValueError(constant)
