"""`--replay`: a run whose models answer from a recording, and which stops at the first request that differs."""

from pathlib import Path

from tuvl.dataclass import dataclass
from tuvl.errors import ConfigError, ModelError, UsageError
from tuvl.llm.conversation import Fingerprint, Fingerprinter, digests_of
from tuvl.llm.messages import ModelReply, ModelRequest, Price
from tuvl.llm.script import ScriptedReply, parse_script
from tuvl.llm.scripted import play, speak
from tuvl.redaction import redact
from tuvl.source.loading import load_data
from tuvl.values import JsonObject, JsonValue, canonical, shorten

_AROUND = 40
"""Characters shown on either side of the first difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    number: int
    reply: ScriptedReply
    request: Fingerprint


class Replay:
    """The replies of one recording, handed out once each. A run makes one of its own."""

    def __init__(self, entries: list[_Entry], *, name: str) -> None:
        self._entries = entries
        self.file = name

    @classmethod
    def load(cls, path: Path) -> "Replay":
        """Read a recording; raises `UsageError` for a file that is none."""
        try:
            data = load_data(path.read_bytes(), name=str(path), format="yaml")
        except OSError as error:
            raise UsageError(f"cannot read the recording {str(path)!r}: {error.strerror}") from None
        try:
            replies = parse_script(data, where=str(path))
        except ConfigError as error:
            raise UsageError(str(error)) from None
        return cls(_entries(replies, str(path)), name=path.name)

    def model(self, name: str, price: Price | None) -> "ReplayModel":
        """Return the model that answers for the one recorded under `name`."""
        return ReplayModel(self, name, price)

    def take(self, model: str, asked: Fingerprint) -> _Entry:
        """Hand out the reply to this request; raises `ModelError` of type `replay_mismatch` when there is none."""
        mine = [entry for entry in self._entries if entry.reply.model in {None, model}]
        for entry in mine:
            if entry.request == asked:
                self._entries.remove(entry)
                return entry
        if not mine:
            raise _mismatch(f"the recording {self.file!r} has no further reply of model {model!r}")
        first = mine[0]
        raise _mismatch(
            f"this request to model {model!r} differs from reply {first.number} of the recording {self.file!r}: "
            f"{difference(first.request, asked)}"
        )


class ReplayModel:
    """Answers from a recording."""

    def __init__(self, replay: Replay, name: str, price: Price | None) -> None:
        self._replay = replay
        self._name = name
        self._price = price
        self._fingerprinter = Fingerprinter()

    @property
    def name(self) -> str:
        """The name the recording knows it by."""
        return self._name

    @property
    def price(self) -> Price | None:
        """The price of the model that was recorded."""
        return self._price

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Give the recorded reply; raises `ModelError`, the recorded one or a mismatch."""
        entry = self._replay.take(self._name, self._fingerprinter.of(request))
        reply = play(entry.reply, model=self._name, turn=entry.number)
        if request.on_delta is not None:
            await speak(reply, request.on_delta)
        return reply

    async def aclose(self) -> None:
        """Nothing is held."""


def difference(recorded: Fingerprint, asked: Fingerprint) -> str:
    """Say in one line where two requests first differ."""
    for index, (before, now) in enumerate(zip(recorded.messages, asked.messages, strict=False), 1):
        if before != now:
            return f"message {index} ({now['role']}): {_fields(before, now)}"
    if len(recorded.messages) != len(asked.messages):
        return f"it has {len(asked.messages)} messages, the recording {len(recorded.messages)}"
    if recorded.tools != asked.tools:
        changed = sorted({text.partition(" ")[0] for text in set(recorded.tools) ^ set(asked.tools)})
        return f"the offered tools differ: {', '.join(changed) or 'their order'}"
    return f"the settings differ: recorded {recorded.settings}, now {asked.settings}"


def _fields(before: JsonObject, now: JsonObject) -> str:
    name = next(key for key in {**before, **now} if before.get(key) != now.get(key))
    old, new = _text(before.get(name)), _text(now.get(name))
    start = next(
        (at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), min(len(old), len(new))
    )
    return f"{name!r} was {_excerpt(old, start)}, is {_excerpt(new, start)}"


def _excerpt(text: str, at: int) -> str:
    start = max(0, at - _AROUND)
    end = at + _AROUND
    body = shorten(redact(text)[start:end], 2 * _AROUND + 1)
    return repr(("…" if start else "") + body + ("…" if end < len(text) else ""))


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical(value)


def _mismatch(message: str) -> ModelError:
    return ModelError(message, type="replay_mismatch", retryable=False)


def _entries(replies: tuple[ScriptedReply, ...], file: str) -> list[_Entry]:
    """Put each recorded request together again: a request holds what it adds to an earlier one."""
    entries: list[_Entry] = []
    for number, reply in enumerate(replies, 1):
        request = reply.request
        messages = request.get("messages") if request else None
        after = request.get("after", 0) if request else 0
        if not isinstance(messages, list) or not isinstance(after, int) or not 0 <= after < number:
            raise UsageError(f"{file}: reply {number} has no recorded request; a script is no recording")
        whole = [*(entries[after - 1].request.messages if after else ()), *_objects(messages)]
        assert request is not None
        tools = request.get("tools")
        fingerprint = Fingerprint(
            messages=tuple(whole),
            digests=digests_of(whole),
            tools=tuple(str(tool) for tool in tools) if isinstance(tools, list) else (),
            settings=str(request.get("settings", "")),
        )
        entries.append(_Entry(number=number, reply=reply, request=fingerprint))
    return entries


def _objects(values: list[JsonValue]) -> list[JsonObject]:
    return [value for value in values if isinstance(value, dict)]
