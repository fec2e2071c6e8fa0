"""How durations, money and counts are worded for people, and how people word durations; imports none of ours."""

import math
import re

_UNITS = {"m": 60, "h": 3600, "d": 86_400}
_LASTS = re.compile(r"([1-9]\d{0,6})([mhd])")


def seconds(value: float) -> str:
    """Write a duration the way people say it: `<1 ms`, `12 ms`, `4.2 s`, `3 min 05 s`."""
    # The bounds are those of the rounded figure: never `1000 ms`, never `60.0 s`.
    if value < 0.9995:
        return f"{value * 1000:.0f} ms" if value >= 0.0005 else "<1 ms"
    if value < 59.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s"


def duration_s(text: str) -> float | None:
    """Read `45m`, `12h` or `30d`; returns seconds, and `None` for anything else."""
    found = _LASTS.fullmatch(text)
    return None if found is None else float(int(found[1]) * _UNITS[found[2]])


def positive(text: str) -> float | None:
    """Read a number above 0 as people write it; `None` for what is none, as `1_0`, which Python takes for ten."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < math.inf and "_" not in text else None


def cost(usd: float | None) -> str:
    """Write dollars with as many digits as they need; an unknown cost is said to be unknown."""
    if usd is None:
        return "cost unknown"
    return f"${usd:.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"


def count(number: int, noun: str) -> str:
    """Write `1 turn`, `2 turns`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
