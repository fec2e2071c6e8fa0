"""A request as a recording keeps it: plain, masked, and with a digest for each beginning of its conversation."""

from collections.abc import Sequence
from hashlib import sha256

from tuvl.dataclass import dataclass
from tuvl.llm.messages import Message, ModelRequest
from tuvl.redaction import redact
from tuvl.values import JsonObject, JsonValue, canonical

START = ""
"""The digest of a conversation without messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What tells one request from another. `digests[i]` stands for the first `i + 1` messages."""

    messages: tuple[JsonObject, ...]
    digests: tuple[str, ...]
    tools: tuple[str, ...]
    settings: str

    @property
    def digest(self) -> str:
        """One text for the whole request."""
        return _hash("".join([self.history, *self.tools, self.settings]))

    @property
    def history(self) -> str:
        """The digest of all messages."""
        return self.digests[-1] if self.digests else START


class Fingerprinter:
    """Makes fingerprints of one model's requests; a history that only grew is not digested again."""

    def __init__(self) -> None:
        self._known: list[Message] = []
        self._plain: list[JsonObject] = []
        self._digests: list[str] = []

    def of(self, request: ModelRequest) -> Fingerprint:
        """Return the fingerprint of a request."""
        same = 0
        for known, message in zip(self._known, request.messages, strict=False):
            if known is not message:
                break
            same += 1
        new = request.messages[same:]
        self._known[same:] = new
        self._plain[same:] = [plain(message) for message in new]
        del self._digests[same:]
        for data in self._plain[same:]:
            self._digests.append(_hash((self._digests[-1] if self._digests else START) + canonical(data)))
        return Fingerprint(
            messages=tuple(self._plain),
            digests=tuple(self._digests),
            tools=tuple(
                f"{tool.name} {_hash(tool.description + canonical(tool.parameters))}" for tool in request.tools
            ),
            settings=canonical(
                {
                    "json_answer": request.json_answer,
                    "max_output_tokens": request.max_output_tokens,
                    "temperature": request.temperature,
                }
            ),
        )


def digests_of(messages: Sequence[JsonObject]) -> tuple[str, ...]:
    """Return the digest of each beginning of a recorded conversation."""
    found: list[str] = []
    for data in messages:
        found.append(_hash((found[-1] if found else START) + canonical(data)))
    return tuple(found)


def plain(message: Message) -> JsonObject:
    """Return a message as data: empty fields left out, secrets masked."""
    data: JsonObject = {"role": message.role}
    if message.content is not None:
        data["content"] = redact(message.content)
    if message.tool_calls:
        data["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": _masked(call.arguments)} for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        data["tool_call_id"] = message.tool_call_id
    if message.name is not None:
        data["name"] = message.name
    if message.provider:
        data["provider"] = _masked(dict(message.provider))
    return data


def _masked(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _masked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked(item) for item in value]
    return value


def _hash(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
