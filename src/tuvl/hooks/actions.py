"""What hooks do: a log line, a count, a notification."""

import logging
from collections.abc import Coroutine
from typing import Protocol

from tuvl.metrics import HOOK_EVENTS, Counters
from tuvl.redaction import redact
from tuvl.values import JsonObject, dump_json

LOGGER = "tuvl.hooks"
"""Name of the logger of hooks: what they log, and which of them failed."""

log = logging.getLogger(LOGGER)


class Notify(Protocol):
    """Runs an APICall step of the workflow on the context as it is at this moment, with the payload as `args`."""

    def __call__(self, target: str, payload: JsonObject) -> Coroutine[None, None, str | None]:
        """Return the work; what it gives is why the call failed, or `None`."""
        ...


def write_log(payload: JsonObject) -> None:
    """Write one line; what went wrong is a warning, everything else is for information."""
    level = logging.WARNING if payload["event"] == "on_error" else logging.INFO
    log.log(level, "%s", redact(dump_json(payload)))


def count(counters: Counters, payload: JsonObject) -> None:
    """Count one event under `tuvl.hook.events`."""
    counters.add(HOOK_EVENTS, {"hook": str(payload["hook"]), "event": str(payload["event"])})
