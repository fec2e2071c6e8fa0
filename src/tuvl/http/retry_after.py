"""`Retry-After`: seconds or an HTTP date, and anything at all from servers that get it wrong."""

import math
from datetime import UTC, datetime


def parse_retry_after(value: str | None, *, now: datetime) -> float | None:
    """Return the seconds a server asks to wait, `None` when it named none that makes sense."""
    if value is None:
        return None
    text = value.strip()
    try:
        seconds = float(text)
    except ValueError:
        seconds = _until(text, now)
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _until(text: str, now: datetime) -> float:
    from email.utils import parsedate_to_datetime  # dates are rare, and it brings half of a mail library

    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError, OverflowError):
        return math.nan
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - now).total_seconds()
