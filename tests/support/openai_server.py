"""An OpenAI-compatible chat-completions server under test control: the HTTP server, and words of the dialect."""

import asyncio
import json
import re
from collections.abc import Iterable
from pathlib import Path

from tests.support.http_server import Answer, HttpServer, serving

__all__ = [
    "EVENT_STREAM",
    "Answer",
    "HttpServer",
    "call",
    "captured",
    "chunk",
    "in_pieces",
    "message",
    "serving",
    "sse",
    "streamed",
    "trickled",
]

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


EVENT_STREAM = {"content-type": "text/event-stream; charset=utf-8"}


def chunk(delta=None, *, finish=None, usage=None, choices=None, **fields) -> dict:
    """A chunk of a streamed chat completion whose one choice holds this delta."""
    made = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "local"}
    made["choices"] = [{"index": 0, "delta": delta or {}, "finish_reason": finish}] if choices is None else choices
    if usage is not None:
        made["usage"] = usage
    return made | fields


def sse(*chunks: dict, done: bool = True) -> bytes:
    """These chunks as server-sent events, and the last word after them."""
    said = [json.dumps(made, ensure_ascii=False) for made in chunks] + (["[DONE]"] if done else [])
    return "".join(f"data: {text}\n\n" for text in said).encode("utf-8", "surrogatepass")


def streamed(*chunks: dict, done: bool = True) -> Answer:
    """An answer that streams these chunks, its connection kept."""
    return Answer(body=sse(*chunks, done=done), headers=EVENT_STREAM)


def trickled(pieces: Iterable[bytes], *, then: asyncio.Event | None = None) -> Answer:
    """An answer whose bytes are sent piece by piece; with `then`, the connection stays open until that is set."""

    async def write(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)  # let the reader have it, so that pieces are not glued together again
        if then is not None:
            await then.wait()

    return Answer(headers=EVENT_STREAM, stream=write)


def in_pieces(reply: dict) -> Answer:
    """The answer that streams what `message` made whole: text word by word, arguments in threes, usage at the end."""
    choice = reply["choices"][0]
    said = choice["message"]
    deltas = [{"role": "assistant", "content": said.get("content") and ""}]
    deltas += [{name: value} for name, value in said.items() if name not in {"role", "content", "tool_calls"}]
    deltas += [{"content": word} for word in re.split(r"(?<=\s)(?=\S)", said.get("content") or "")]
    for index, made in enumerate(said.get("tool_calls") or ()):
        text = made["function"]["arguments"]
        first = {**made, "index": index, "function": {"name": made["function"]["name"], "arguments": ""}}
        deltas.append({"tool_calls": [first]})
        for at in range(0, len(text), 3):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": text[at : at + 3]}}]})
    chunks = [chunk(delta) for delta in deltas if delta != {"content": ""}]
    chunks.append(chunk(finish=choice["finish_reason"]))
    if "usage" in reply:
        chunks.append(chunk(choices=[], usage=reply["usage"]))
    return streamed(*chunks)
