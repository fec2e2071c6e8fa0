"""The exceptions tuvl raises, as one tree.

    TuvlError
    ├── UsageError            the command or call is wrong: a missing file, unreadable input (exit 2)
    │   ├── InputError        the input of a run does not fit the workflow; nothing ran
    │   └── OutputError       what was asked for could not be written, to a full disk for one (exit 1)
    ├── ConfigError           a document cannot be used as it stands: a missing environment variable, say
    ├── TemplateError         a template names what is not there, or does what the sandbox forbids
    ├── EngineError           the run met a state its file does not provide for (an unmapped signal)
    └── StepError             one step ended on an abnormal signal; `type` is what `_last_error_type` shows
        └── ModelError        a language model call failed; `retryable` tells whether another attempt may help

A mistake in a file is a `Finding`, not an exception. The end of an agent is an `Exit`. A failed tool is a value
the model reads. Exceptions are for faults, and a fault becomes an exit in exactly one place of each layer.
Messages never hold a secret, a prompt or a payload.
"""

from collections.abc import Mapping

from tuvl.values import JsonValue


class TuvlError(Exception):
    """Base of all errors raised on purpose."""


class UsageError(TuvlError):
    """The command line or the call is wrong; the message names the thing and the next step."""


class InputError(UsageError):
    """The input of a run does not fit the workflow; the message names every key that is wrong, never its value."""


class OutputError(UsageError):
    """What was asked for could not be written; the message names the file and why."""


class ConfigError(TuvlError):
    """A document cannot be used as it stands, e.g. a `${VAR}` without a value."""


class TemplateError(TuvlError):
    """A template names an undefined variable or leaves the sandbox."""


class EngineError(TuvlError):
    """The run met a state that its file does not provide for; the run ends as `failed`."""

    def __init__(
        self,
        message: str,
        *,
        type: str = "engine",
        step: str | None = None,
        detail: Mapping[str, JsonValue] | None = None,
    ) -> None:
        super().__init__(message)
        self.type = type
        self.step = step
        self.detail: dict[str, JsonValue] = dict(detail or {})


class StepError(TuvlError):
    """One step ended on an abnormal signal.

    `signal` is where the step leaves (`error` unless said otherwise), `type` the machine-readable reason shown as
    `_last_error_type`, the message one line that is safe to show, `detail` further JSON for `_last_error_detail`.
    """

    def __init__(
        self,
        message: str,
        *,
        type: str,
        signal: str = "error",
        detail: Mapping[str, JsonValue] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.type = type
        self.signal = signal
        self.detail: dict[str, JsonValue] = dict(detail or {})


class ModelError(StepError):
    """A language model call failed.

    `type` is one of `timeout`, `connection`, `rate_limited`, `server_error`, `authentication`, `bad_request`,
    `context_overflow`, `bad_response`, `content_filter`, `script_exhausted`, `replay_mismatch`, `unknown`.
    `retry_after_s` is the provider's floor in seconds, when it named one; `status` the HTTP status, when there was one.
    `sent` is false when the request is known not to have reached the provider.
    """

    def __init__(
        self,
        message: str,
        *,
        type: str,
        retryable: bool,
        status: int | None = None,
        retry_after_s: float | None = None,
        detail: Mapping[str, JsonValue] | None = None,
        sent: bool = True,
    ) -> None:
        super().__init__(message, type=type, detail=detail)
        self.sent = sent
        self.retryable = retryable
        self.status = status
        self.retry_after_s = retry_after_s
