"""The two databases that records are kept in: every test that asks for `database` runs on both."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.postgres import Server, shared_server


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Server]:
    base = tmp_path_factory.getbasetemp()
    with shared_server(base if worker_id == "master" else base.parent) as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Server) -> Iterator[str]:
    with postgres.database() as url:
        yield url


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
