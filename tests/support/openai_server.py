"""An OpenAI-compatible chat-completions server under test control: the HTTP server, and words of the dialect."""

import json
from pathlib import Path

from tests.support.http_server import Answer, HttpServer, serving

__all__ = ["Answer", "HttpServer", "call", "captured", "message", "serving"]

REPLIES = Path(__file__).resolve().parents[1] / "data" / "replies"


def message(content=None, *, finish="stop", usage=None, calls=None, model="local", **fields) -> dict:
    """A chat completion whose one choice holds this message."""
    said = {"role": "assistant", "content": content, **fields}
    if calls is not None:
        said["tool_calls"] = calls
    reply = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "finish_reason": finish, "message": said}],
    }
    if usage is not None:
        reply["usage"] = usage
    return reply


def call(name, arguments="{}", call_id="c1", **fields) -> dict:
    """A tool call in the dialect."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **fields}


def captured(name: str) -> Answer:
    """What a small local model really answered once; see `tests/data/replies`."""
    case = json.loads((REPLIES / f"bad_{name}.json").read_text(encoding="utf-8"))
    return Answer(body=case["response"], status=case["status"])
