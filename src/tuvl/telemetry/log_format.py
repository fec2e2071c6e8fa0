"""Log records as structured lines, written by structlog: JSON for machines, key=value text for people."""

import logging
from typing import Any, assert_never

import structlog
from structlog.typing import EventDict, Processor

from tuvl.redaction import redact
from tuvl.settings import LogFormat
from tuvl.tracing import current_ids


def structured_formatter(format: LogFormat) -> logging.Formatter:
    """Return a formatter that writes one line a record, with its time, level, logger and everything it carries."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(),
            _time,
            _span,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            _without_secrets,
            _renderer(format),
        ],
    )


def _renderer(format: LogFormat) -> Processor:
    match format:
        case "json":
            return structlog.processors.JSONRenderer(sort_keys=False)
        case "text":
            return structlog.processors.LogfmtRenderer(
                key_order=["timestamp", "level", "logger", "event"], drop_missing=True, bool_as_flag=False
            )
        case _:
            assert_never(format)


_now = structlog.processors.TimeStamper(fmt="iso", utc=True)


def _time(logger: Any, name: str, event: EventDict) -> EventDict:
    """Stamp a record; one made of an event of a run has the time of the event."""
    at = event.pop("at", None)
    if at is None:
        return _now(logger, name, event)
    event["timestamp"] = str(at).replace("+00:00", "Z")
    return event


def _span(logger: Any, name: str, event: EventDict) -> EventDict:
    """Say in which span a record was made; one made of an event brings that along."""
    if "trace_id" not in event:
        ids = current_ids()
        if ids is not None:
            event["trace_id"], event["span_id"] = ids
    return event


def _without_secrets(logger: Any, name: str, event: EventDict) -> EventDict:
    """Mask secrets in every text, before quoting could hide them from the last look at the whole line."""
    return {key: _masked(value) for key, value in event.items() if key.isidentifier() and key not in _LEFT_BEHIND}


_LEFT_BEHIND = frozenset({"asctime", "message"})
"""What other handlers put on a record while they format it; it is no more than what `event` says."""


def _masked(value: object) -> object:
    match value:
        case str():
            return redact(value)
        case int() | float() | None:
            return value
        case list() | tuple():
            return [_masked(item) for item in value]
        case dict():
            return {str(key): _masked(item) for key, item in value.items()}
        case _:
            return redact(repr(value))
