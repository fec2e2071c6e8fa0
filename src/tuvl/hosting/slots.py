"""The moments at which a schedule starts runs, on a clock that is put forward and back."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from tuvl.analysis.cron import Cron

MINUTE_S = 60

_MINUTE = timedelta(minutes=1)


def latest_slot(cron: Cron, zone: ZoneInfo, *, after: float, until: float) -> float | None:
    """Return the last moment after one moment, and not after another, that a schedule names; seconds since 1970."""
    minute = int(until) // MINUTE_S * MINUTE_S
    while minute > after:
        if is_slot(cron, zone, datetime.fromtimestamp(minute, UTC)):
            return float(minute)
        minute -= MINUTE_S
    return None


def is_slot(cron: Cron, zone: ZoneInfo, minute: datetime) -> bool:
    """Tell whether a schedule names a minute.

    A schedule that names no hour goes by the time that passes. One that names hours names each time of a day once: a
    time that comes twice counts the first time, one that the clock skips counts when it has skipped it.
    """
    local = minute.astimezone(zone)
    if cron.every_hour:
        return cron.names(local)
    if local.fold:
        return False
    return cron.names(local) or any(cron.names(time) for time in _skipped(minute, local, zone))


def _skipped(minute: datetime, local: datetime, zone: ZoneInfo) -> list[datetime]:
    """Return the times of the clock that were left out just before a minute."""
    time = (minute - _MINUTE).astimezone(zone).replace(tzinfo=None) + _MINUTE
    shown, found = local.replace(tzinfo=None), []
    while time < shown:
        found.append(time)
        time += _MINUTE
    return found
