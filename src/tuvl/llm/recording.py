"""`--record`: what the models of a run were asked and said, kept as a script that `--replay` runs from."""

from pathlib import Path

from tuvl.errors import ModelError, UsageError
from tuvl.files import write_whole
from tuvl.llm.conversation import Fingerprint, Fingerprinter
from tuvl.llm.identity import ModelIdentity, identity_of
from tuvl.llm.messages import ChatModel, Message, ModelReply, ModelRequest, Price, Usage
from tuvl.llm.retrying import NeedsPreparation
from tuvl.redaction import redact
from tuvl.source.yaml_text import to_yaml
from tuvl.values import JsonObject, JsonValue

_HEAD = """\
# Recorded by tuvl. Run from it with `tuvl run … --replay`, or as the script of a `provider: scripted` model.
# Registered secrets are masked; everything else the models were told stands here as it was.
"""


class Recorder:
    """Collects the calls of one run. Models may be called at the same time; `save` writes the file whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: list[JsonObject] = []
        self._conversations: dict[str, int] = {}

    def wrap(self, model: ChatModel) -> ChatModel:
        """Return a model that does what `model` does, and is recorded."""
        return _RecordedModel(model, self)

    def add(self, model: str, request: Fingerprint, outcome: JsonObject) -> None:
        """Keep one call: what was asked, and the reply or the failure."""
        after, known = self._beginning(request)
        asked: JsonObject = {"digest": request.digest}
        if after:
            asked["after"] = after
        asked["messages"] = list(request.messages[known:])
        if request.tools:
            asked["tools"] = list(request.tools)
        asked["settings"] = request.settings
        self._entries.append({"model": model, "request": asked, **outcome})
        self._conversations[request.history] = len(self._entries)

    def _beginning(self, request: Fingerprint) -> tuple[int, int]:
        """Find the earlier call whose conversation this one goes on from: its number, and how many messages it had."""
        for count in range(len(request.digests), 0, -1):
            number = self._conversations.get(request.digests[count - 1])
            if number is not None:
                return number, count
        return 0, 0

    def save(self) -> None:
        """Write the file, whole or not at all; raises `UsageError` when it cannot be written."""
        text = _HEAD + to_yaml({"replies": list(self._entries)})
        try:
            write_whole(self._path, text)
        except OSError as error:
            raise UsageError(f"cannot write the recording {str(self._path)!r}: {error.strerror}") from None


class _RecordedModel:
    """Passes calls on, and tells the recorder what came of them."""

    def __init__(self, model: ChatModel, recorder: Recorder) -> None:
        self._model = model
        self._recorder = recorder
        self._fingerprinter = Fingerprinter()

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def identity(self) -> ModelIdentity:
        return identity_of(self._model)

    @property
    def price(self) -> Price | None:
        return self._model.price

    async def prepare(self) -> None:
        if isinstance(self._model, NeedsPreparation):
            await self._model.prepare()

    async def complete(self, request: ModelRequest) -> ModelReply:
        asked = self._fingerprinter.of(request)  # the history is live: later it may hold more
        try:
            reply = await self._model.complete(request)
        except ModelError as error:
            self._recorder.add(self.name, asked, {"error": _failure(error)})
            raise
        self._recorder.add(self.name, asked, _reply(reply))
        return reply

    async def aclose(self) -> None:
        await self._model.aclose()


def _failure(error: ModelError) -> JsonObject:
    data: JsonObject = {"type": error.type, "message": redact(error.message), "retryable": error.retryable}
    if error.status is not None:
        data["status"] = error.status
    if error.retry_after_s is not None:
        data["retry_after_s"] = error.retry_after_s
    return data


def _reply(reply: ModelReply) -> JsonObject:
    data: JsonObject = {}
    if reply.message.content is not None:
        data["text"] = redact(reply.message.content)
    if reply.message.tool_calls:
        data["tool_calls"] = _calls(reply.message)
    if reply.message.provider:
        data["provider"] = dict(reply.message.provider)
    if reply.usage is not None and not reply.usage.estimated:  # what was made up, a replay makes up again
        data["usage"] = _usage(reply.usage)
    data["finish_reason"] = reply.finish_reason
    return data


def _calls(message: Message) -> list[JsonValue]:
    calls: list[JsonValue] = []
    for call in message.tool_calls:
        data: JsonObject = {"id": call.id, "name": call.name, "arguments": call.arguments}
        if call.provider:
            data["provider"] = dict(call.provider)
        calls.append(data)
    return calls


def _usage(usage: Usage) -> JsonObject:
    data: JsonObject = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
    }
    if usage.cached_input_tokens:
        data["cached_input_tokens"] = usage.cached_input_tokens
    if usage.cost_usd is not None:
        data["cost_usd"] = usage.cost_usd
    return data
