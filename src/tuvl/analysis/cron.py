"""Cron expressions of five fields: whether a text is one, and which times it names."""

from datetime import datetime

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """The times that an expression names, on whatever clock."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """From 0, which is Sunday."""
    every_hour: bool
    """Whether no hour is named, so that it goes by the time that passes."""
    either_day: bool
    """Whether both a day of the month and a weekday are named: then one of them is enough."""

    def names(self, time: datetime) -> bool:
        """Tell whether a minute of a clock is one of them."""
        if time.minute not in self.minutes or time.hour not in self.hours or time.month not in self.months:
            return False
        day, weekday = time.day in self.days, time.isoweekday() % 7 in self.weekdays
        return day or weekday if self.either_day else day and weekday


def parse_cron(text: str) -> Cron:
    """Read a cron expression; raises `ValueError`, which says what is wrong with it.

    Each field is `*`, numbers, names (months and weekdays), ranges and lists of those, each with an optional `/step`.
    """
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise _Wrong(f"{len(parts)} field(s), not {len(_FIELDS)}")
    minutes, hours, days, months, weekdays = (
        frozenset(_values(part, field)) for part, field in zip(parts, _FIELDS, strict=True)
    )
    if parts[4] == "*" and all(_LONGEST_MONTH[month - 1] < min(days) for month in months):
        raise _Wrong(f"no month of {parts[3]!r} has a day {min(days)}, so it never fires")
    return Cron(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        every_hour=parts[1] == "*",
        either_day=not parts[2].startswith("*") and not parts[4].startswith("*"),
    )


def cron_problem(text: str) -> str | None:
    """Say what is wrong with a cron expression; `None` when it is one and can ever fire."""
    try:
        parse_cron(text)
    except ValueError as error:
        return str(error)
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
