"""How the state of a run or a step looks and reads: a word, a sign and a colour, never the colour alone."""

import json
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from tuvl.dataclass import dataclass
from tuvl.redaction import redact, redact_json
from tuvl.values import JsonValue, dump_json, printable, printable_lines, sound_text
from tuvl.wording import seconds

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A state: its word, and the class that gives it colour; the sign is drawn by the template."""

    word: str
    name: str
    """Class in the style sheet, and name of the sign."""


_RUNS: Mapping[str, Look] = MappingProxyType(
    {
        "running": Look(word="running", name="running"),
        "paused": Look(word="paused", name="paused"),
        "queued": Look(word="queued", name="waiting"),
        "completed": Look(word="completed", name="done"),
        "failed": Look(word="failed", name="failed"),
        "aborted": Look(word="aborted", name="aborted"),
        "suspended": Look(word="waits for a person", name="waiting"),
        "gone": Look(word="process gone", name="gone"),
    }
)

_STEPS: Mapping[str, Look] = MappingProxyType(
    {
        "running": Look(word="running", name="running"),
        "waiting": Look(word="waits for a person", name="waiting"),
        "done": Look(word="done", name="done"),
        "failed": Look(word="failed", name="failed"),
        "aborted": Look(word="aborted", name="aborted"),
        "": Look(word="not reached", name="none"),
        "aside": Look(word="used by others", name="none"),
    }
)


def run_look(status: str) -> Look:
    """Return the look of a run's status; one that is not known is shown by its name."""
    return _RUNS.get(status) or Look(word=status, name="gone")


def step_look(state: str) -> Look:
    """Return the look of a step's state."""
    return _STEPS.get(state) or Look(word=state, name="none")


def ago(then: datetime, now: datetime) -> str:
    """Say how long ago something was, as roughly as people do."""
    passed = (now - then).total_seconds()
    if passed < 5:
        return "just now"
    if passed < _MINUTE:
        return f"{passed:.0f} s ago"
    if passed < _HOUR:
        return f"{passed // _MINUTE:.0f} min ago"
    if passed < _DAY:
        return f"{passed // _HOUR:.0f} h ago"
    return f"{then:%d %b %Y}"


def moment(value: datetime) -> str:
    """Write a time for people, in UTC."""
    return f"{value:%d %b %Y, %H:%M:%S} UTC"


def took(began: datetime | None, ended: datetime | None) -> str:
    """Say how long something took; `–` while that is not known."""
    if began is None or ended is None:
        return "–"
    return seconds(max(0.0, (ended - began).total_seconds()))


def read_moment(value: object) -> datetime | None:
    """Read a time from a row; `None` for what is none."""
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def shown(value: JsonValue) -> str:
    """Return a value as one line for a page: secrets masked, what hides text from a person made visible."""
    if value is None:
        return ""
    return printable(sound_text(redact(value if isinstance(value, str) else dump_json(value))))


def shown_lines(value: JsonValue) -> str:
    """Do the same with a text of several lines."""
    return printable_lines(sound_text(redact(value if isinstance(value, str) else pretty(value))))


def pretty(value: JsonValue) -> str:
    """Return a value as JSON on several lines, in the same way."""
    text = json.dumps(redact_json(value), ensure_ascii=False, indent=2)
    return printable_lines(sound_text(text))
