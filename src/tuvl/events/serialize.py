"""The one form in which events leave the process: lines of a file, server-sent events, output of the command line."""

from dataclasses import fields
from functools import cache
from typing import get_args

from tuvl.events.types import Event, EventBody
from tuvl.values import JsonObject, dollars

_DURATIONS = frozenset({"duration_ms", "elapsed_s", "wait_s"})


def to_wire(event: Event) -> JsonObject:
    """Return `{type, run_id, seq, at, step_id, …}`, the time as ISO 8601 with its zone."""
    body = event.body
    wire: JsonObject = {
        "type": body.type,
        "run_id": event.run_id,
        "seq": event.seq,
        "at": event.at.isoformat(),
        "step_id": event.step_id,
    }
    for name in _field_names(body.type):
        value = getattr(body, name)
        if name in _DURATIONS:
            value = round(value, 3)
        wire[name] = dollars(value) if name == "cost_usd" else value
    return wire


@cache
def _field_names(type: str) -> tuple[str, ...]:
    kind = next(kind for kind in get_args(EventBody) if kind.type == type)
    return tuple(field.name for field in fields(kind))
