"""Chunks of a streamed chat completion → the pieces as they come, and at the end the reply, as if it had come whole."""

from collections.abc import Iterator

from tuvl.llm.failures import connection_failure
from tuvl.llm.fragments import CallFragments
from tuvl.llm.messages import CallNamed, Delta, ModelReply, TextPiece
from tuvl.llm.parts import joined, settled
from tuvl.llm.wire import error_reply, parse_reply, part_text
from tuvl.values import JsonObject, JsonValue, sound_text

_READ_HERE = frozenset({"annotations", "audio", "content", "function_call", "name", "refusal", "role", "tool_calls"})

_WHOLE = frozenset({"format", "id", "index", "object", "phase", "type"})
"""Texts beside the content that are said again rather than continued."""


class ReplyAssembly:
    """Puts one reply together. Both lanes give their chunks to it, so that both join them the same way."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._texts: list[str] = []
        self._refusals: list[str] = []
        self._carry = ""
        self._calls = CallFragments()
        self._long_parts: dict[str, list[str]] = {}
        self._parts: JsonObject = {}
        self._reason: JsonValue = None
        self._usage: JsonValue = None
        self._named: JsonValue = None
        self._begun = False

    @property
    def finished(self) -> bool:
        """Whether the provider said why the reply ended; only its usage may still be missing then."""
        return self._reason is not None

    def take(self, chunk: JsonObject) -> Iterator[Delta]:
        """Take one chunk in and yield what is new; raises `ModelError` for an error in place of a chunk."""
        if chunk.get("error"):
            raise error_reply(chunk, self._model)
        self._named = self._named or chunk.get("model")
        self._usage = chunk.get("usage") or self._usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                yield from self._take_choice(choice)

    def rest(self) -> Iterator[Delta]:
        """Yield what was held back until its end was known."""
        if self._carry:
            yield TextPiece(text=sound_text(self._carry))
            self._carry = ""
        for name in self._calls.names():
            yield CallNamed(name=name)

    def reply(self) -> ModelReply:
        """Return the reply; raises `ModelError` when there is none."""
        choices: list[JsonValue] = []
        if self._begun:
            choices = [{"message": self._message(), "finish_reason": self._reason}]
        data: JsonObject = {"choices": choices, "usage": self._usage, "model": self._named}
        return parse_reply(data, model=self._model)

    def require_end(self) -> None:
        """Raise the `ModelError` of a reply that broke off, unless this one did not."""
        if not self.finished:
            raise connection_failure(self._model, "the stream ended before the reply did")

    def _take_choice(self, choice: JsonObject) -> Iterator[Delta]:
        self._begun = True
        reason = choice.get("finish_reason")
        if reason is not None:
            self._reason = reason
        delta = choice.get("delta") or choice.get("message")
        if not isinstance(delta, dict):
            return
        yield from self._take_text(delta)
        calls = delta.get("tool_calls")
        for fragment in calls if isinstance(calls, list) else ():
            if isinstance(fragment, dict):
                for name in self._calls.add(fragment):
                    yield CallNamed(name=name)
        for name, value in delta.items():
            if name not in _READ_HERE and value is not None:
                self._take_part(name, value)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict):
            for name in self._calls.add({"index": 0, "function": legacy}):
                yield CallNamed(name=name)

    def _take_text(self, delta: JsonObject) -> Iterator[Delta]:
        content, refusal = delta.get("content"), delta.get("refusal")
        if isinstance(content, list):
            content = "".join(map(part_text, content))
        if isinstance(content, str):
            self._texts.append(content)
            yield from self._piece(content)
        if isinstance(refusal, str):
            self._refusals.append(refusal)
            if not any(self._texts):  # a refusal is the text when there is no other
                yield from self._piece(refusal)

    def _piece(self, text: str) -> Iterator[Delta]:
        """Yield a text that can stand alone: half a surrogate pair waits for the other half."""
        if self._carry:
            text, self._carry = self._carry + text, ""
        if not text.isascii():
            if "\ud800" <= text[-1] <= "\udbff":
                text, self._carry = text[:-1], text[-1]
            text = sound_text(text)
        if text:
            yield TextPiece(text=text)

    def _take_part(self, name: str, value: JsonValue) -> None:
        if isinstance(value, str) and name not in _WHOLE:
            self._long_parts.setdefault(name, []).append(value)
        else:
            self._parts[name] = joined(self._parts.get(name), value, name)

    def _message(self) -> JsonObject:
        parts: JsonObject = {name: settled(name, value) for name, value in self._parts.items()}
        parts.update({name: "".join(texts) for name, texts in self._long_parts.items()})
        calls = self._calls.to_wire()
        if calls:
            parts["tool_calls"] = calls
        if self._refusals:
            parts["refusal"] = "".join(self._refusals)
        parts["content"] = "".join(self._texts) if self._texts else None
        return parts
