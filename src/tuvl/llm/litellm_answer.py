"""What the provider really answered, where LiteLLM made nothing of it, or something else. Imports no LiteLLM.

LiteLLM is strict about much that providers do send, and calls its own trouble a server's fault; an answer that does not
stream it even takes for an empty one. Such answers are read here, as the direct lane reads them.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol, runtime_checkable

from tuvl.llm.failures import bad_response
from tuvl.llm.messages import ModelReply
from tuvl.llm.wire import MAX_REPLY_BYTES, parse_reply, read_json, read_reply
from tuvl.values import JsonObject


class ProviderAnswer:
    """Keeps the answer to one call as it came; it is the `logger_fn` of that call."""

    def __init__(self) -> None:
        self._text: str | None = None

    def __call__(self, details: Mapping[str, object]) -> None:
        """Take what LiteLLM has to say about the call so far."""
        answered = details.get("original_response")
        if details.get("log_event_type") == "post_api_call" and isinstance(answered, str):
            self._text = answered

    def reply(self, *, model: str) -> ModelReply | None:
        """Read a reply of the chat-completions dialect; `None` for anything else.

        Raises `ModelError` for one that holds no message.
        """
        data = self._data()
        return parse_reply(data, model=model) if data.keys() & {"choices", "error"} else None

    def _data(self) -> JsonObject:
        try:
            data = None if self._text is None else read_json(self._text)
        except ValueError:
            return {}
        return data if isinstance(data, dict) else {}


class HttpAnswer(Protocol):
    """The HTTP response below a stream, its body not read yet."""

    @property
    def status_code(self) -> int:
        """The status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; their names know no case."""
        ...

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Yield the body, decoded."""
        ...


@runtime_checkable
class _Wrapped(Protocol):
    completion_stream: object


@runtime_checkable
class _Streamed(Protocol):
    response: HttpAnswer


def unstreamed(stream: object) -> HttpAnswer | None:
    """Return the response below a stream, when it is no stream of events; `None` when it is, or nobody can tell."""
    inner = stream.completion_stream if isinstance(stream, _Wrapped) else None
    if not isinstance(inner, _Streamed):
        return None
    answer = inner.response
    return None if "text/event-stream" in answer.headers.get("content-type", "") else answer


async def read_whole(answer: HttpAnswer, *, model: str) -> ModelReply:
    """Read the reply of a server that does not stream; raises `ModelError`, and what reading the body raises."""
    body = bytearray()
    async for piece in answer.aiter_bytes():
        body += piece
        if len(body) > MAX_REPLY_BYTES:
            raise bad_response(model, f"the reply is larger than {MAX_REPLY_BYTES} bytes", status=answer.status_code)
    content_type = answer.headers.get("content-type", "")
    return read_reply(bytes(body), model=model, status=answer.status_code, content_type=content_type)
