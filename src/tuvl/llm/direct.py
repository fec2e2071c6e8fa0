"""The direct lane: `provider: openai_compatible`, over the runtime's HTTP client and without LiteLLM."""

import json
from collections.abc import Sequence
from dataclasses import replace

from tuvl.clock import Clock, SystemClock
from tuvl.errors import ModelError
from tuvl.http.client import HttpClient
from tuvl.http.decoding import decoded, read_body
from tuvl.http.fault import HttpFault
from tuvl.http.message import HttpReply, HttpRequest
from tuvl.http.retry_after import parse_retry_after
from tuvl.llm.event_stream import read_event_stream
from tuvl.llm.failures import bad_response, connection_failure, mask, status_failure, timeout_failure
from tuvl.llm.identity import ModelIdentity
from tuvl.llm.messages import DeltaSink, Message, ModelReply, ModelRequest, Price, ToolSpec
from tuvl.llm.settings import CallSettings, asks_for_json, stream_options
from tuvl.llm.wire import MAX_REPLY_BYTES, encode_message, encode_tool, read_reply
from tuvl.spec.reserved_settings import HEADERS, sent_settings
from tuvl.values import JsonObject, JsonValue


class DirectModel:
    """Makes chat-completions requests. The HTTP client belongs to the runtime and is shared between models."""

    def __init__(self, settings: CallSettings, http: HttpClient, *, clock: Clock | None = None) -> None:
        self._settings = settings
        self._http = http
        self._clock = clock or SystemClock()
        self._url = _endpoint(settings.api_base or "")
        self._headers = {"content-type": "application/json", "accept": "application/json"}
        if settings.api_key:
            self._headers["authorization"] = f"Bearer {settings.api_key}"
        self._headers.update(_texts(settings.extra.get(HEADERS)))
        self._extra: JsonObject = sent_settings(settings.extra)
        self._history = _Fragments()
        self._tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")

    @property
    def name(self) -> str:
        """The preset's name."""
        return self._settings.name

    @property
    def identity(self) -> ModelIdentity:
        """The model that is asked for; who serves it is known by its dialect only."""
        return ModelIdentity("openai", self._settings.model)

    @property
    def price(self) -> Price | None:
        """The preset's price."""
        return self._settings.price

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Make one call; raises `ModelError`."""
        sending = HttpRequest(method="POST", url=self._url, headers=self._headers, body=self._body(request))
        try:
            if request.on_delta is not None:
                sending = replace(sending, headers={**self._headers, "accept": "text/event-stream, application/json"})
                return await self._stream(sending, request.on_delta)
            reply = await self._http.send(sending, policy=None, max_bytes=MAX_REPLY_BYTES)
        except HttpFault as fault:
            raise self._failure(fault) from fault
        return self._read(reply)

    async def aclose(self) -> None:
        """The connections are the HTTP client's."""

    async def _stream(self, sending: HttpRequest, sink: DeltaSink) -> ModelReply:
        """Read the reply as it comes; a server that does not stream, or refuses, answers whole."""
        stream = await self._http.open(sending, policy=None)
        try:
            encoding = stream.headers.get("content-encoding")
            if stream.status == 200 and "text/event-stream" in stream.headers.get("content-type", ""):
                body = decoded(stream.chunks(), encoding=encoding, max_bytes=MAX_REPLY_BYTES)
                return await read_event_stream(body, sink, model=self.name)
            whole = await read_body(stream.chunks(), encoding=encoding, max_bytes=MAX_REPLY_BYTES)
        finally:
            await stream.aclose()
        return self._read(HttpReply(status=stream.status, reason="", headers=stream.headers, body=whole))

    def _read(self, reply: HttpReply) -> ModelReply:
        if not 200 <= reply.status < 300:
            raise self._refusal(reply, reply.body.decode("utf-8-sig", errors="replace"))
        content_type = reply.headers.get("content-type", "")
        return read_reply(reply.body, model=self.name, status=reply.status, content_type=content_type)

    def _body(self, request: ModelRequest) -> bytes:
        """Write the request. The history is most of it and only grows, so each message is written once."""
        head: JsonObject = {"model": self._settings.model, **self._settings.parameters(request)}
        if request.json_answer and asks_for_json(request.messages):
            head["response_format"] = {"type": "json_object"}
        head.update(self._extra)
        options = stream_options(head)
        if request.on_delta is not None:
            head["stream"] = True
            head.update(options)
        parts = [_dump(head)[:-1], b',"messages":[', b",".join(self._history.of(request.messages)), b"]"]
        if request.tools:
            parts += [b',"tools":', self._tools_text(request.tools)]
        return b"".join([*parts, b"}"])

    def _tools_text(self, tools: tuple[ToolSpec, ...]) -> bytes:
        if self._tools[0] is not tools:
            self._tools = (tools, _dump([encode_tool(tool) for tool in tools]))
        return self._tools[1]

    def _failure(self, fault: HttpFault) -> ModelError:
        match fault.kind:
            case "timeout":
                return timeout_failure(self.name, None)
            case "connect" | "lost":
                return connection_failure(self.name, fault.message, sent=fault.kind == "lost")
            case "invalid_request" | "address_refused":
                message = f"model {self.name!r}: {mask(fault.message)}; check api_base and api_key"
                return ModelError(message, type="bad_request", retryable=False)
            case "response_too_large" | "bad_response":
                return bad_response(self.name, fault.message)

    def _refusal(self, reply: HttpReply, text: str) -> ModelError:
        if reply.status < 400:
            return ModelError(
                f"model {self.name!r} answered {reply.status}, a redirect; set api_base to the address it leads to",
                type="bad_request",
                retryable=False,
                status=reply.status,
            )
        floor = parse_retry_after(reply.headers.get("retry-after"), now=self._clock.now())
        return status_failure(self.name, reply.status, text, retry_after_s=floor)


class _Fragments:
    """The messages of the last request as JSON text; those that are in the next one too are not written again."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._texts: list[bytes] = []

    def of(self, messages: Sequence[Message]) -> list[bytes]:
        same = 0
        for known, message in zip(self._messages, messages, strict=False):
            if known is not message:
                break
            same += 1
        new = messages[same:]
        self._messages[same:] = new
        self._texts[same:] = [_dump(encode_message(message)) for message in new]
        return self._texts


def _dump(value: JsonValue) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # a lone surrogate can only be sent escaped
        return json.dumps(value, separators=(",", ":")).encode()


def _endpoint(api_base: str) -> str:
    base = api_base.rstrip("/")
    return base if base.endswith("/chat/completions") else f"{base}/chat/completions"


def _texts(value: JsonValue) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {name.lower(): item if isinstance(item, str) else json.dumps(item) for name, item in value.items()}
