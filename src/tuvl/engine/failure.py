"""How whatever a step raised becomes the failure that it left with."""

import logging

from tuvl.errors import ConfigError, StepError, TemplateError
from tuvl.redaction import redact
from tuvl.spec.signals import ERROR
from tuvl.steps.base import StepFailure, StepResult
from tuvl.values import shorten

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
                    message=one_line(error.message, error),
                    detail=error.detail,
                    cause=error.__cause__ or error,
                ),
            )
        case TemplateError():
            return _result(ERROR, StepFailure(type="template", message=one_line(str(error), error), cause=error))
        case ConfigError():
            return _result(ERROR, StepFailure(type="config", message=one_line(str(error), error), cause=error))
        case _:
            _log.error("step %r raised an unexpected exception", step_id, exc_info=error)
            message = f"{type(error).__name__}: {error}" if str(error) else ""
            return _result(ERROR, StepFailure(type="internal_error", message=one_line(message, error), cause=error))


def timed_out(step_id: str, timeout_s: float) -> StepResult:
    """Return how a step ended that its own `timeout_s` cut off."""
    message = f"step {step_id!r} did not finish within timeout_s: {timeout_s:g}; whether it had an effect is unknown"
    return _result(ERROR, StepFailure(type="timeout", message=message, detail={"timeout_s": timeout_s}))


def cancelled_itself(step_id: str) -> StepResult:
    """Return how a step ended whose code raised a cancellation that nobody asked for."""
    return _result(ERROR, StepFailure(type="cancelled", message=f"step {step_id!r} cancelled itself"))


def unexplained(step_id: str) -> StepFailure:
    """Return the failure of a step that returned the signal `error` and said no more."""
    return StepFailure(type="error_signal", message=f"step {step_id!r} returned the signal 'error'")


def one_line(message: str, error: BaseException) -> str:
    """Make a message that is safe to show: one line, no secret, and never blank."""
    return shorten(redact(message), MESSAGE_MAX_CHARS) or type(error).__name__


def _result(signal: str, failure: StepFailure) -> StepResult:
    return StepResult(signal=signal, failure=failure)
