"""Where log records go while a command runs: one handler for the process, and no secret gets past it."""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tuvl.hooks.actions import LOGGER as HOOK_LOGGER
from tuvl.redaction import redact
from tuvl.settings import LogFormat, LogLevel
from tuvl.steps.builtins import LOGGER as WORKFLOW_LOGGER
from tuvl.values import printable as one_line

_OURS = "tuvl"
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class LineHandler(logging.Handler):
    """Hands each record to a function, as text without secrets, and without control characters unless it is JSON."""

    def __init__(
        self, write: Callable[[str, int], None], formatter: logging.Formatter, *, as_json: bool = False
    ) -> None:
        super().__init__()
        self._write = write
        self._as_json = as_json
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; what cannot be written is no reason to stop what was logged."""
        try:
            text = redact(self.format(record))
            self._write(text if self._as_json else printable(text), record.levelno)
        except Exception as error:  # noqa: BLE001 - a record's arguments are a guest's, and may raise anything
            # Not `handleError`: it prints the arguments as they are.
            lost = f"a log record of {record.name!r} could not be written ({type(error).__name__})"
            self._write(json.dumps({"level": "warning", "event": lost}) if self._as_json else lost, logging.WARNING)


class PlainFormatter(logging.Formatter):
    """One line for people: the step that says it, how serious it is, the message; then the traceback, if any."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Write the line."""
        said = record.message if record.levelno < logging.WARNING else f"{record.levelname.lower()}: {record.message}"
        step = record.__dict__.get("step_id")
        return f"{step}: {said}" if record.name == WORKFLOW_LOGGER and step else said


@contextmanager
def plain_logs(write: Callable[[str, int], None], *, workflow_level: LogLevel) -> Iterator[None]:
    """Log warnings as plain lines while the block runs; what `log` steps and hooks say, from their own level on."""
    handler, level = LineHandler(write, PlainFormatter()), _LEVELS[workflow_level]
    with _handled_by(handler), _at_level(WORKFLOW_LOGGER, level), _at_level(HOOK_LOGGER, level):
        yield


@contextmanager
def structured_logs(
    write: Callable[[str, int], None], *, format: LogFormat | None, level: LogLevel | None
) -> Iterator[None]:
    """Log as the environment asks for while the block runs; of libraries, only warnings."""
    from tuvl.telemetry.log_format import structured_formatter  # it imports structlog, which takes its time

    # What a library says below a warning may hold anything: a URL with its query, a header.
    handler = LineHandler(write, structured_formatter(format or "text"), as_json=format == "json")
    with _handled_by(handler), _at_level(_OURS, _LEVELS[level or "info"]):
        yield


@contextmanager
def _handled_by(handler: logging.Handler) -> Iterator[None]:
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


@contextmanager
def _at_level(name: str, level: int) -> Iterator[None]:
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)


def printable(text: str) -> str:
    """Escape control characters, which a terminal would obey; further lines are indented, so that none is forged."""
    if text.isprintable():
        return text
    return "\n    ".join(map(one_line, text.replace("\t", "    ").splitlines()))
