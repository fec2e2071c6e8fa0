"""Threads that still ask the database something when its host is closed leave no connection open."""

import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from tuvl.durable.postgres import open_postgres
from tuvl.durable.queued import SharedRuns
from tuvl.durable.shared_tables import SCHEMA
from tuvl.durable.sqlite_file import open_sqlite


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> sa.Engine:
    if request.param == "sqlite":
        return open_sqlite(str(tmp_path / "host.sqlite"))
    return open_postgres(sa.make_url(request.getfixturevalue("postgres_url")))


def open_and_closed(engine: sa.Engine) -> list[str]:
    """Return what happens to the connections of an engine from now on."""
    seen: list[str] = []
    sa.event.listen(engine, "connect", lambda *_: seen.append("opened"))
    sa.event.listen(engine, "close", lambda *_: seen.append("closed"))
    return seen


@pytest.mark.parametrize("begun", [True, False], ids=["asked before", "asked after"])
def test_a_connection_that_a_thread_has_when_a_host_is_closed_is_closed_as_soon_as_it_is_done(engine, begun):
    seen = open_and_closed(engine)
    runs = SharedRuns(engine, SCHEMA if engine.dialect.name == "postgresql" else None)
    runs.connect()
    asking, closed = threading.Event(), threading.Event()

    def ask(connection: sa.Connection) -> int:
        asking.set()
        assert closed.wait(30)
        return int(connection.execute(sa.text("SELECT 1")).scalar_one())

    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(runs.state.in_transaction(ask)))
    if begun:
        thread.start()
        assert asking.wait(30)
    runs.close()
    if not begun:
        thread.start()
    closed.set()
    thread.join(30)
    assert answers == [1]
    assert seen.count("opened") == seen.count("closed")
