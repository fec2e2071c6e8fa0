"""Provider-owned parts of a streamed reply (reasoning blocks, signatures), joined from the pieces they came in."""

from tuvl.values import JsonObject, JsonValue

_TEXTS = frozenset({"arguments", "content", "reasoning", "reasoning_content", "summary", "text", "thinking"})
"""Fields that come in pieces; any other text (a type, an id, a signature) comes whole, maybe more than once."""


def joined(old: JsonValue, new: JsonValue, name: str) -> JsonValue:
    """Return field `name` with its next piece."""
    if old is None or new is None:
        return new if old is None else old
    if isinstance(old, str) and isinstance(new, str):
        return old + new if name in _TEXTS else new or old
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: joined(old.get(key), value, key) for key, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        return _blocks(old, new)
    return new


def _blocks(old: list[JsonValue], new: list[JsonValue]) -> list[JsonValue]:
    blocks = list(old)
    for piece in new:
        at = _home(blocks, piece) if isinstance(piece, dict) else None
        if at is None:
            blocks.append(piece)
        else:
            blocks[at] = joined(blocks[at], piece, "")
    return blocks


def _home(blocks: list[JsonValue], piece: JsonObject) -> int | None:
    """Find the block that a piece belongs to: the one of its index, else the last one, if that is still being written.

    A block of reasoning ends with its signature; whole blocks without a text are never continued.
    """
    index, kind = piece.get("index"), piece.get("type")
    for at in reversed(range(len(blocks))):
        block = blocks[at]
        if not isinstance(block, dict) or block.get("type") != kind or block.get("index") != index:
            if index is None:
                return None
            continue
        if index is not None:
            return at
        written = not _TEXTS.isdisjoint(piece) or "signature" in piece
        return at if written and not block.get("signature") else None
    return None


def settled(name: str, value: JsonValue) -> JsonValue:
    """Return a part as it goes back to the provider: thinking blocks are numbered on the way here only."""
    if isinstance(value, dict):
        return {key: settled(key, item) for key, item in value.items()}
    if name == "thinking_blocks" and isinstance(value, list):
        return [
            {key: item for key, item in block.items() if key != "index"} if isinstance(block, dict) else block
            for block in value
        ]
    return value
