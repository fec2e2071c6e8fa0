"""What leaves a run, without registered secrets and without what `secure` fields were given in it.

Each way out is covered: how a step ended, of which hooks, tools, events and `_last_error` are made; the pieces of a
streamed text; and the result document as a whole.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from tuvl.data.secure import SecureValues
from tuvl.engine.result import RunError, RunResult
from tuvl.events.types import (
    AgentEnded,
    EventBody,
    Iteration,
    StepFinished,
    StreamEnded,
    StreamReset,
    TextDelta,
    ToolCallStarted,
)
from tuvl.redaction import StreamRedactor, redact_json
from tuvl.spec.signals import DEFAULT, RESERVED_EXITS
from tuvl.values import JsonObject, JsonValue

Hide = Callable[[JsonValue], JsonValue]
"""Masks a value at any depth."""


def hiding(secure: SecureValues) -> Hide:
    """Return what masks registered secrets, and everything that secure fields were given by then."""
    return lambda value: redact_json(secure.masked(value))


def masked(result: RunResult, secure: SecureValues) -> RunResult:
    """Return a result in which those values are masked wherever they turn up."""
    hide = hiding(secure)
    return replace(
        result,
        output=hide(result.output),
        context=_object(result.context, hide),
        error=None if result.error is None else _error(result.error, hide),
        trace=None if result.trace is None else tuple(_object(entry, hide) for entry in result.trace),
        warnings=tuple(_text(warning, hide) for warning in result.warnings),
    )


def masked_signal(signal: str, declared: Callable[[str], bool], hide: Hide) -> str:
    """Return a signal as it may be shown: a word of the file as it is, one that was made of data masked."""
    known = signal == DEFAULT or signal in RESERVED_EXITS or declared(signal)
    return signal if known else _text(signal, hide)


class StreamMask:
    """Masks secure values in the texts that agents stream: what may be the beginning of one waits for its end."""

    def __init__(self, secure: SecureValues) -> None:
        self._secure = secure
        self._texts: dict[str | None, _Waiting] = {}

    def shown(self, step_id: str | None, body: EventBody) -> Iterator[EventBody]:
        """Return what goes out for an event of a step: the event, and before it a text that need not wait longer."""
        if not self._secure:
            yield body
            return
        match body:
            case TextDelta():
                waiting = self._texts.setdefault(step_id, _Waiting(self._secure))
                text = waiting.feed(body)
                if text:
                    yield replace(body, text=text)
                return
            case StreamReset():
                self._texts.pop(step_id, None)
            case Iteration() | ToolCallStarted() | StreamEnded() | AgentEnded() | StepFinished():
                ended = self._texts.pop(step_id, None)
                rest = None if ended is None else ended.end()
                if rest is not None:
                    yield rest
            case _:
                pass
        yield body


class _Waiting:
    """The text of one reply."""

    def __init__(self, secure: SecureValues) -> None:
        self._redactor = StreamRedactor(lambda: secure.texts)
        self._last: TextDelta | None = None

    def feed(self, body: TextDelta) -> str:
        self._last = body
        return self._redactor.feed(body.text)

    def end(self) -> TextDelta | None:
        text = self._redactor.end()
        return replace(self._last, text=text) if text and self._last is not None else None


def _error(error: RunError, hide: Hide) -> RunError:
    return replace(error, message=_text(error.message, hide), detail=_object(error.detail, hide))


def _object(value: JsonObject, hide: Hide) -> JsonObject:
    shown = hide(value)
    return shown if isinstance(shown, dict) else {}


def _text(value: str, hide: Hide) -> str:
    shown = hide(value)
    return shown if isinstance(shown, str) else ""
