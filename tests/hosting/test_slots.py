"""The moments that a schedule names, also where the clock is put forward or back."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tuvl.analysis.cron import parse_cron
from tuvl.hosting.slots import is_slot, latest_slot

BERLIN = "Europe/Berlin"


def slots(expression: str, begin: str, end: str, zone: str = "UTC") -> list[str]:
    """Return all slots from one moment to another, as UTC."""
    cron, at = parse_cron(expression), int(datetime.fromisoformat(f"{begin}+00:00").timestamp())
    until = datetime.fromisoformat(f"{end}+00:00").timestamp()
    found = []
    while at <= until:
        minute = datetime.fromtimestamp(at, UTC)
        if is_slot(cron, ZoneInfo(zone), minute):
            found.append(minute.strftime("%d %H:%M"))
        at += 60
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("*/20 7 * * *", ["01 07:00", "01 07:20", "01 07:40"]),
        ("0 7,9-10 * * *", ["01 07:00", "01 09:00", "01 10:00"]),
        ("30 7 * * mon", ["01 07:30"]),  # 1 June 2026 is a Monday
        ("30 7 * * 0", []),
        ("30 7 * * 7", []),
        ("30 7 2 * mon", ["01 07:30"]),  # either of the two is enough
        ("30 7 2 * *", []),
        ("30 7 */2 * tue", []),  # `*/2` names no day, so both are to hold
        ("30 7 1 jun *", ["01 07:30"]),
        ("30 7 1 jul *", []),
    ],
)
def test_the_times_of_a_day_are_those_that_the_five_fields_name(expression: str, expected: list[str]) -> None:
    assert slots(expression, "2026-06-01T00:00", "2026-06-01T23:59") == expected


def test_sunday_has_two_numbers() -> None:
    week = ("2026-06-01T00:00", "2026-06-08T00:00")
    assert slots("0 12 * * 0", *week) == slots("0 12 * * 7", *week) == ["07 12:00"]


def test_hours_are_those_of_the_time_zone() -> None:
    assert slots("0 7 * * *", "2026-06-01T00:00", "2026-06-01T23:59", BERLIN) == ["01 05:00"]
    assert slots("0 7 * * *", "2026-12-01T00:00", "2026-12-01T23:59", BERLIN) == ["01 06:00"]


SPRING = ("2026-03-28T12:00", "2026-03-29T12:00")
"""At 01:00 UTC the clock goes from 02:00 to 03:00."""
AUTUMN = ("2026-10-24T12:00", "2026-10-25T12:00")
"""At 01:00 UTC the clock goes from 03:00 to 02:00."""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("30 2 * * *", ["29 01:00"]),  # the clock skips it
        ("30 1 * * *", ["29 00:30"]),
        ("0 3 * * *", ["29 01:00"]),
        ("0,30 2-3 * * *", ["29 01:00", "29 01:30"]),
    ],
)
def test_a_time_that_the_clock_skips_counts_when_it_has_skipped_it(expression: str, expected: list[str]) -> None:
    assert slots(expression, *SPRING, BERLIN) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("30 2 * * *", ["25 00:30"]),  # it comes again at 01:30
        ("0 3 * * *", ["25 02:00"]),
        ("0 2 * * *", ["25 00:00"]),
    ],
)
def test_a_time_that_comes_twice_counts_the_first_time(expression: str, expected: list[str]) -> None:
    assert slots(expression, *AUTUMN, BERLIN) == expected


@pytest.mark.parametrize("night", [SPRING, AUTUMN])
def test_a_schedule_that_names_no_hour_goes_by_the_time_that_passes(night: tuple[str, str]) -> None:
    assert slots("30 * * * *", *night, BERLIN) == slots("30 * * * *", *night)


def test_of_several_slots_the_latest_counts() -> None:
    cron, utc = parse_cron("*/10 * * * *"), ZoneInfo("UTC")
    assert latest_slot(cron, utc, after=0, until=3599) == 3000
    assert latest_slot(cron, utc, after=3000, until=3599) is None
    assert latest_slot(cron, utc, after=3000, until=3600) == 3600
