"""The databases of `tests/sql`, for the store that live runs stand in."""

from tests.sql.conftest import database, postgres, postgres_url

__all__ = ["database", "postgres", "postgres_url"]
