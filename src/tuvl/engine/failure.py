"""How whatever a step raised becomes the failure that it left with."""

import logging
from dataclasses import replace

from tuvl.errors import ConfigError, StepError, TemplateError
from tuvl.redaction import redact
from tuvl.spec.signals import ERROR
from tuvl.steps.base import StepFailure, StepResult
from tuvl.values import JsonObject, JsonValue, NotJsonError, shorten, to_json

MESSAGE_MAX_CHARS = 500

_log = logging.getLogger("tuvl.engine")


def failed(step_id: str, error: Exception) -> StepResult:
    """Return how a step ended that raised `error`; what is not of our own making is logged with its traceback."""
    match error:
        case StepError():
            return _result(
                error.signal,
                StepFailure(
                    type=error.type,
                    message=error.message,
                    detail=error.detail,
                    cause=error.__cause__ or error,
                ),
            )
        case TemplateError():
            return _result(ERROR, StepFailure(type="template", message=str(error), cause=error))
        case ConfigError():
            return _result(ERROR, StepFailure(type="config", message=str(error), cause=error))
        case _:
            _log.error("step %r raised an unexpected exception", step_id, exc_info=error)
            message = f"{type(error).__name__}: {error}" if str(error) else ""
            return _result(ERROR, StepFailure(type="internal_error", message=message, cause=error))


def timed_out(step_id: str, timeout_s: float) -> StepResult:
    """Return how a step ended that its own `timeout_s` cut off."""
    message = f"step {step_id!r} did not finish within timeout_s: {timeout_s:g}; whether it had an effect is unknown"
    return _result(ERROR, StepFailure(type="timeout", message=message, detail={"timeout_s": timeout_s}))


def cancelled_itself(step_id: str) -> StepResult:
    """Return how a step ended whose code raised a cancellation that nobody asked for."""
    return _result(ERROR, StepFailure(type="cancelled", message=f"step {step_id!r} cancelled itself"))


def unexplained(step_id: str, signal: str) -> StepFailure:
    """Return the failure of a step that returned `error` or `aborted` and said no more."""
    return StepFailure(type=f"{signal}_signal", message=f"step {step_id!r} returned the signal {signal!r}")


def presentable(failure: StepFailure) -> StepFailure:
    """Return a failure that is safe to show: JSON throughout, and no registered secret in it."""
    return replace(
        failure, message=one_line(failure.message, failure.cause or Exception()), detail=_shown(failure.detail)
    )


def _shown(detail: JsonObject) -> JsonObject:
    if not detail:
        return detail
    try:
        shown = _redacted(to_json(detail, where="detail"))
    except NotJsonError:
        return {}
    return shown if isinstance(shown, dict) else {}


def _redacted(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return redact(value)
        case list():
            return [_redacted(item) for item in value]
        case dict():
            return {key: _redacted(item) for key, item in value.items()}
        case _:
            return value


def one_line(message: str, error: BaseException) -> str:
    """Make a message that is safe to show: one line, no secret, and never blank."""
    return shorten(redact(message), MESSAGE_MAX_CHARS) or type(error).__name__


def _result(signal: str, failure: StepFailure) -> StepResult:
    return StepResult(signal=signal, failure=presentable(failure))
