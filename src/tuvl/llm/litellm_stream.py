"""LiteLLM's stream of chunk objects → pieces to a sink as they come, and the reply at the end. Imports no LiteLLM."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, cast, runtime_checkable

from tuvl.errors import ModelError
from tuvl.llm.assembly import ReplyAssembly
from tuvl.llm.litellm_errors import causes
from tuvl.llm.messages import DeltaSink, ModelReply
from tuvl.values import JsonObject, JsonValue

_SETTLE_S = 1.0

_ASIDE = ("CustomStreamWrapper.", "Logging.", "ServiceLogging.")
"""What the tasks are called that LiteLLM starts when a stream ends, for caches and callbacks that are off here."""


class StreamChunk(Protocol):
    """One chunk as LiteLLM gives it, whatever the provider's own looked like."""

    def model_dump(self, *, exclude_none: bool, warnings: bool) -> dict[str, object]:
        """Return it as plain data."""
        ...


@runtime_checkable
class ChunkStream(Protocol):
    """What LiteLLM returns when it is asked to stream."""

    async def __anext__(self) -> StreamChunk:
        """Return the next chunk."""
        ...

    async def aclose(self) -> None:
        """Let go of the connection."""
        ...


@runtime_checkable
class KeepsChunks(Protocol):
    """LiteLLM's own record of the provider's chunks."""

    chunks: Sequence[object]


async def read_chunk_stream(
    stream: ChunkStream, sink: DeltaSink, *, model: str, failure: Callable[[Exception], ModelError]
) -> tuple[ModelReply, StreamChunk | None]:
    """Read one reply, and the chunk that holds its usage; `failure` words what LiteLLM raises."""
    assembly = ReplyAssembly(model)
    used: StreamChunk | None = None
    try:
        while (chunk := await _next(stream, failure)) is not None:
            data = _plain(chunk)
            if data.get("usage"):
                # LiteLLM makes up a usage where the provider reported none; ours is flagged as the estimate it is.
                used = chunk if _reported(stream) else None
                data["usage"] = data["usage"] if used else None
            for delta in assembly.take(data):
                await sink(delta)
            if used is not None and assembly.finished:
                break
    except ModelError as error:
        # Behind the reply's end comes its usage; one that is lost, or that LiteLLM refuses to read, is estimated.
        lost = error.type == "connection" or "ValidationError" in causes(error)
        if not (lost and assembly.finished):
            raise
    finally:
        await stream.aclose()
        await _settled()
    for delta in assembly.rest():
        await sink(delta)
    return assembly.reply(), used


async def _next(stream: ChunkStream, failure: Callable[[Exception], ModelError]) -> StreamChunk | None:
    try:
        return await stream.__anext__()
    except StopAsyncIteration:
        return None
    except Exception as error:  # guest boundary: LiteLLM lets errors of a hundred providers' code out
        raise failure(error) from error


async def _settled() -> None:
    """Wait for what LiteLLM does on the side after a stream: no task is to outlive the call it belongs to."""
    aside = [task for task in asyncio.all_tasks() if _is_aside(task.get_coro())]
    if aside:
        await asyncio.wait(aside, timeout=_SETTLE_S)


def _is_aside(coroutine: object) -> bool:
    return getattr(coroutine, "__qualname__", "").startswith(_ASIDE)


def _reported(stream: ChunkStream) -> bool:
    if not isinstance(stream, KeepsChunks):
        return True
    return any(getattr(chunk, "usage", None) is not None for chunk in stream.chunks)


def _plain(chunk: StreamChunk) -> JsonObject:
    data = cast(JsonObject, chunk.model_dump(exclude_none=True, warnings=False))
    choices = data.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        delta = choice.get("delta") if isinstance(choice, dict) else None
        if isinstance(delta, dict):
            _drop_empty(delta)
    return data


def _drop_empty(delta: dict[str, JsonValue]) -> None:
    if not delta.get("provider_specific_fields"):
        delta.pop("provider_specific_fields", None)
