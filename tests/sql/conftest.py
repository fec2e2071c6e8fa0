"""The two databases that records are kept in: every test that asks for `database` runs on both."""

from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Database:
    """An empty database: its type and connection, as a `kind: DataSource` has them."""

    type: str
    connection: str


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "sqlite":
        return Database("sqlite", str(tmp_path / "records.db"))
    return Database("postgresql", request.getfixturevalue("postgres_url"))
