"""How whatever a step raised becomes the failure that it left with."""

import logging
from dataclasses import replace

from tuvl.engine.masking import Hide
from tuvl.errors import ConfigError, StepError, TemplateError
from tuvl.redaction import redact_json
from tuvl.spec.signals import ERROR
from tuvl.steps.base import StepFailure, StepResult
from tuvl.values import JsonObject, NotJsonError, number_text, shorten, to_json

MESSAGE_MAX_CHARS = 500

_log = logging.getLogger("tuvl.engine")


def failed(step_id: str, error: Exception, hide: Hide = redact_json) -> StepResult:
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
                hide,
            )
        case TemplateError():
            return _result(ERROR, StepFailure(type="template", message=str(error), cause=error), hide)
        case ConfigError():
            return _result(ERROR, StepFailure(type="config", message=str(error), cause=error), hide)
        case _:
            _log.error("step %r raised an unexpected exception", step_id, exc_info=error)
            message = f"{type(error).__name__}: {error}" if str(error) else ""
            return _result(ERROR, StepFailure(type="internal_error", message=message, cause=error), hide)


def timed_out(step_id: str, timeout_s: float) -> StepResult:
    """Return how a step ended that its own `timeout_s` cut off."""
    within = f"within timeout_s: {number_text(timeout_s)}"
    message = f"step {step_id!r} did not finish {within}; whether it had an effect is unknown"
    return _result(ERROR, StepFailure(type="timeout", message=message, detail={"timeout_s": timeout_s}))


def cancelled_itself(step_id: str) -> StepResult:
    """Return how a step ended whose code raised a cancellation that nobody asked for."""
    return _result(ERROR, StepFailure(type="cancelled", message=f"step {step_id!r} cancelled itself"))


def unexplained(step_id: str, signal: str) -> StepFailure:
    """Return the failure of a step that returned `error` or `aborted` and said no more."""
    return StepFailure(type=f"{signal}_signal", message=f"step {step_id!r} returned the signal {signal!r}")


def presentable(failure: StepFailure, hide: Hide = redact_json) -> StepFailure:
    """Return a failure that is safe to show: JSON throughout, and nothing in it that `hide` masks."""
    cause = failure.cause or Exception()
    return replace(failure, message=one_line(failure.message, cause, hide), detail=_shown(failure.detail, hide))


def _shown(detail: JsonObject, hide: Hide) -> JsonObject:
    if not detail:
        return detail
    try:
        shown = hide(to_json(detail, where="detail"))
    except NotJsonError:
        return {}
    return shown if isinstance(shown, dict) else {}


def one_line(message: str, error: BaseException, hide: Hide = redact_json) -> str:
    """Make a message that is safe to show: one line, nothing that `hide` masks, and never blank."""
    return shorten(str(hide(message)), MESSAGE_MAX_CHARS) or type(error).__name__


def _result(signal: str, failure: StepFailure, hide: Hide = redact_json) -> StepResult:
    return StepResult(signal=signal, failure=presentable(failure, hide))
