"""What went wrong at a provider → `ModelError`; the same for every lane. No key or prompt reaches its message."""

import json
import re

from tuvl.errors import ModelError
from tuvl.redaction import MASK, redact
from tuvl.values import JsonValue, number_text, shorten

_KEY_LIKE = re.compile(r"(?i)(bearer\s+|\b(?:sk|pk|rk|gsk|xai|key)-)[A-Za-z0-9._*-]{6,}")

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|context size|context window|maximum context|context length"
    r"|prompt is too long|input is too long|(?:prompt|input|request).{0,40}too (?:long|large|many tokens)"
    r"|too many (?:input )?tokens|token count.{0,60}exceeds|exceeds?.{0,60}(?:token|context) limit"
    r"|tokens? (?:in|of) (?:the )?(?:prompt|messages).{0,60}exceed|reduce the length of the (?:messages|prompt)"
    r"|model_max_prompt_tokens_exceeded|max_prompt_tokens|larger than the (?:maximum|max) (?:number of )?tokens",
    re.IGNORECASE | re.DOTALL,
)
"""How providers and local servers say that a request does not fit into the model's context."""

_RATE = re.compile(r"tokens per (?:minute|day|hour)|\b[TR]P[MD]\b|rate.?limit", re.IGNORECASE)


_UNANSWERED = frozenset({"timeout", "connection", "bad_response", "content_filter", "unknown"})
"""Failures after which nobody knows what the provider did; with any other it says that it did nothing."""


def may_have_used(error: ModelError) -> bool:
    """Whether a call that failed may have used tokens, and cost money, all the same."""
    return error.sent and error.status in (None, 200) and error.type in _UNANSWERED


def connection_failure(model: str, reason: str, *, sent: bool = True) -> ModelError:
    """There was no whole reply; `sent` is false when there was not even a connection."""
    return ModelError(f"model {model!r}: {mask(reason)}", type="connection", retryable=True, sent=sent)


def timeout_failure(model: str, seconds: float | None) -> ModelError:
    """The call took longer than it may."""
    within = "in time" if seconds is None else f"within {number_text(seconds)} s"
    return ModelError(f"model {model!r} did not answer {within}", type="timeout", retryable=True)


def bad_response(model: str, reason: str, *, status: int | None = None) -> ModelError:
    """The provider answered with something that is no reply."""
    return ModelError(f"model {model!r}: {mask(reason)}", type="bad_response", retryable=False, status=status)


def not_json(model: str, start: str, *, status: int, content_type: str = "") -> ModelError:
    """The provider answered with something else than JSON; `start` is how its body begins."""
    media_type = content_type.partition(";")[0].strip().lower()
    if not media_type or "json" in media_type:
        media_type = "text/html" if start.lstrip("\ufeff \t\r\n'\"").startswith("<") else "something"
    hint = "see that `api_base` of its preset leads to an API"
    message = f"model {model!r} answered {status} with {mask(shorten(media_type, 60))} that is not JSON; {hint}"
    return ModelError(message, type="bad_response", retryable=False, status=status)


def status_failure(model: str, status: int, text: str, *, retry_after_s: float | None = None) -> ModelError:
    """The provider answered with an error status; `text` is its body or message."""
    kind, retryable = _kind(status, text)
    said = error_text(text)
    message = f"model {model!r} answered {status}" + (f": {said}" if said else "")
    if kind == "authentication":
        message += " (check api_key of its preset, or the provider's own variable)"
    return ModelError(message, type=kind, retryable=retryable, status=status, retry_after_s=retry_after_s)


def _kind(status: int, text: str) -> tuple[str, bool]:
    if status in {400, 413, 422, 500} and _OVERFLOW.search(text) and not _RATE.search(text):
        return "context_overflow", False
    if status in {401, 403}:
        return "authentication", False
    if status == 408:
        return "timeout", True
    if status == 429:
        return "rate_limited", True
    if status >= 500:
        return "server_error", True
    if re.search(r"content_filter|content management policy", text):
        return "content_filter", False
    return "bad_request", False


def error_text(text: str) -> str:
    """Find the sentence in an error body, on one short line, secrets masked."""
    try:
        data: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        data = text
    found = _sentence(data)
    if found is None or found.lstrip().lower().startswith(("<!", "<html", "<?xml")):
        return ""
    return mask(found)


def _sentence(data: JsonValue) -> str | None:
    for _ in range(4):
        if isinstance(data, list) and data:
            data = data[0]
        elif isinstance(data, dict):
            data = next((data[key] for key in ("error", "message", "detail", "msg") if data.get(key)), None)
    return data if isinstance(data, str) else None


def mask(text: str) -> str:
    """Make one short line of a provider's text, with keys masked, also such as we do not know."""
    return shorten(_KEY_LIKE.sub(lambda match: match[1] + MASK, redact(text)), 300)
