"""The databases of `tests/sql`, for the store that live runs stand in."""

from tests.sql.conftest import database

__all__ = ["database"]
