"""Cron expressions of five fields, as far as a static check needs them."""

from tuvl.dataclass import dataclass

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 7, _WEEKDAYS),
)


class _Wrong(ValueError):
    """What is wrong with one field."""


def cron_problem(text: str) -> str | None:
    """Say what is wrong with a cron expression; `None` when it is one and can ever fire.

    Each field is `*`, numbers, names (months and weekdays), ranges and lists of those, each with an optional `/step`.
    """
    parts = text.split()
    if len(parts) != len(_FIELDS):
        return f"{len(parts)} field(s), not {len(_FIELDS)}"
    try:
        sets = [_values(part, field) for part, field in zip(parts, _FIELDS, strict=True)]
    except _Wrong as error:
        return str(error)
    days, months = sets[2], sets[3]
    if parts[4] == "*" and all(_LONGEST_MONTH[month - 1] < min(days) for month in months):
        return f"no month of {parts[3]!r} has a day {min(days)}, so it never fires"
    return None


def _values(part: str, field: _Field) -> set[int]:
    values: set[int] = set()
    for item in part.split(","):
        span, slash, step_text = item.partition("/")
        step = _number(step_text, field) if slash else 1
        if step < 1:
            raise _Wrong(f"step {step_text!r} of the field {field.name!r} must be at least 1")
        low, high = _span(span, field, open_end=bool(slash))
        values.update(range(low, high + 1, step))
    return values


def _span(span: str, field: _Field, *, open_end: bool) -> tuple[int, int]:
    if span == "*":
        return field.low, field.high
    start, dash, end = span.partition("-")
    low = _value(start, field)
    high = _value(end, field) if dash else field.high if open_end else low
    if high < low:
        raise _Wrong(f"range {span!r} of the field {field.name!r} runs backwards")
    return low, high


def _value(text: str, field: _Field) -> int:
    if text.lower() in field.words:
        return field.words.index(text.lower()) + field.low
    value = _number(text, field)
    if not field.low <= value <= field.high:
        raise _Wrong(f"{value} is outside {field.low}-{field.high} in the field {field.name!r}")
    return value


def _number(text: str, field: _Field) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 4):
        raise _Wrong(f"{text!r} is no value of the field {field.name!r}")
    return int(text)
