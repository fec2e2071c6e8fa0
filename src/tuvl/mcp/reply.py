"""What a tool of a server gave back: its content as one JSON value, with what was left out named."""

import base64
import binascii
from collections import Counter
from collections.abc import Iterator, Mapping

from tuvl.dataclass import dataclass
from tuvl.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class McpReply:
    """The result of a call. `failed` is the server's own word for it (`isError`)."""

    value: JsonValue
    """The structured content when there is any, else the text; with other content an object, see `read_reply`."""
    text: str
    """All text in order, that of embedded resources included."""
    failed: bool
    structured: bool = False
    """Whether `value` is the structured content."""
    output_schema: JsonObject | None = None
    """The schema the server declares for its structured content."""


def read_reply(result: Mapping[str, JsonValue], *, output_schema: JsonObject | None = None) -> McpReply:
    """Read a `tools/call` result.

    Text alone is text. Content of other types makes the value an object: `text`, `content` (one entry for each block
    that is no text: its type, MIME type, size or address, never its bytes) and, for blocks whose bytes are not
    forwarded, `not_forwarded` (`["1 image/png"]`).
    """
    blocks = [block for block in _list(result.get("content")) if isinstance(block, dict)]
    text = "\n".join(_texts(blocks))
    failed = result.get("isError") is True
    structured = result.get("structuredContent")
    if structured is not None and not failed:
        return McpReply(value=structured, text=text, failed=False, structured=True, output_schema=output_schema)
    value = _value(blocks, text)
    if failed and structured is not None:
        value = {**value, "structured": structured} if isinstance(value, dict) else _with(value, structured)
    return McpReply(value=value, text=text, failed=failed)


def _value(blocks: list[JsonObject], text: str) -> JsonValue:
    others: list[JsonValue] = [_described(block) for block in blocks if _text_of(block) is None]
    if not others:
        return text
    value: JsonObject = {"text": text, "content": others}
    left_out = Counter(_binary_type(block) for block in blocks)
    named: list[JsonValue] = [f"{count} {name}" for name, count in left_out.items() if name is not None]
    if named:
        value["not_forwarded"] = named
    return value


def _with(text: JsonValue, structured: JsonValue) -> JsonObject:
    return {"text": text, "structured": structured}


def _texts(blocks: list[JsonObject]) -> Iterator[str]:
    for block in blocks:
        text = _text_of(block)
        if text is not None:
            yield text


def _text_of(block: JsonObject) -> str | None:
    held = block.get("resource") if block.get("type") == "resource" else block
    if not isinstance(held, dict) or block.get("type") not in {"text", "resource"}:
        return None
    text = held.get("text")
    return text if isinstance(text, str) else None


def _described(block: JsonObject) -> JsonObject:
    kind = block.get("type")
    held = block.get("resource") if kind == "resource" else block
    source = held if isinstance(held, dict) else {}
    described: JsonObject = {"type": kind if isinstance(kind, str) else "unknown"}
    for name, shown in (("uri", "uri"), ("name", "name"), ("title", "title"), ("mimeType", "mime_type")):
        if isinstance(source.get(name), str):
            described[shown] = source[name]
    if kind == "resource_link" and isinstance(source.get("description"), str):
        described["description"] = source["description"]
    data = _bytes_of(block)
    if data is not None:
        described["bytes"] = _decoded_size(data)
    return described


def _binary_type(block: JsonObject) -> str | None:
    """Name what a block holds beside text, links aside; `None` when nothing of it is left out."""
    if _text_of(block) is not None or block.get("type") == "resource_link":
        return None
    held = block.get("resource") if block.get("type") == "resource" else block
    mime = held.get("mimeType") if isinstance(held, dict) else None
    return mime if isinstance(mime, str) and mime else str(block.get("type") or "unknown")


def _bytes_of(block: JsonObject) -> str | None:
    held = block.get("resource")
    data = held.get("blob") if block.get("type") == "resource" and isinstance(held, dict) else block.get("data")
    return data if isinstance(data, str) else None


def _decoded_size(data: str) -> int:
    try:
        return len(base64.b64decode(data, validate=False))
    except (binascii.Error, ValueError):
        return len(data)


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
