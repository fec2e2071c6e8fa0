"""The databases of `tests/sql`, for the store that live runs stand in, and time enough for signs of life.

Registries of a test look when it says so: what a test does after the last look takes as long as the machine needs.
"""

import pytest

from tests.sql.conftest import database

__all__ = ["database"]


@pytest.fixture(autouse=True)
def nobody_is_taken_for_dead_so_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take nobody for dead who has been silent for less than half a minute."""
    for module in ("runs", "redis_mirror"):
        monkeypatch.setattr(f"tuvl.supervision.{module}.DEAD_S", 30.0)
