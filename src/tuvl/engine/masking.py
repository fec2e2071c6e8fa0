"""The result document without what `secure` fields were given in the run."""

from dataclasses import replace

from tuvl.data.secure import SecureValues
from tuvl.engine.result import RunResult
from tuvl.values import JsonObject, JsonValue


def masked(result: RunResult, secure: SecureValues) -> RunResult:
    """Return a result in which those values are masked wherever they turn up."""
    if not secure:
        return result
    return replace(
        result,
        context=_object(result.context, secure),
        output=secure.masked(result.output),
        trace=None if result.trace is None else [_object(entry, secure) for entry in result.trace],
    )


def _object(value: JsonObject, secure: SecureValues) -> JsonObject:
    shown: JsonValue = secure.masked(value)
    return shown if isinstance(shown, dict) else {}
