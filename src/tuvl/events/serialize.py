"""The one form in which events leave the process: lines of a file, server-sent events, output of the command line."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import cast, get_args

from tuvl.events.types import Event, EventBody
from tuvl.values import JsonObject, JsonValue, dollars

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


def from_wire(wire: JsonObject) -> Event | None:
    """Return the event that was written; `None` for one of a kind that this tuvl does not know."""
    kind = _KINDS.get(str(wire.get("type")))
    if kind is None:
        return None
    step = wire.get("step_id")
    try:
        return Event(
            run_id=str(wire["run_id"]),
            seq=int(cast(int, wire["seq"])),
            at=datetime.fromisoformat(str(wire["at"])),
            step_id=None if step is None else str(step),
            body=kind(**{name: wire[name] for name in _field_names(str(wire["type"])) if name in wire}),
        )
    except (KeyError, TypeError, ValueError):
        return None


def same(wire: JsonObject) -> tuple[tuple[str, JsonValue], ...]:
    """Return what two events have in common that tell of the same: all but when it was, and how long it took."""
    return tuple((name, value) for name, value in wire.items() if name not in _OF_THE_MOMENT)


_OF_THE_MOMENT = _DURATIONS | {"run_id", "seq", "at", "cost_usd", "dropped"}
_KINDS: Mapping[str, Callable[..., EventBody]] = {kind.type: kind for kind in get_args(EventBody)}


@cache
def _field_names(type: str) -> tuple[str, ...]:
    kind = next(kind for kind in get_args(EventBody) if kind.type == type)
    return tuple(field.name for field in fields(kind))
