"""Hosts on both kinds of database, in the process of the test and in others that may be killed."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

import tuvl.hosting.performers as performers
from tests.hosting.hosted_project import make_project
from tests.support.postgres import Server
from tuvl.clock import SystemClock
from tuvl.hosting import event_keeping
from tuvl.hosting.host import Host
from tuvl.project.index import ProjectIndex
from tuvl.settings import load_settings


@dataclass(frozen=True)
class Site:
    """A project and its database."""

    folder: Path
    url: str | None
    keys: str = ""
    """What `TUVL_RECORD_KEY` says."""

    def host(self, concurrency: int = 5) -> AbstractAsyncContextManager[Host]:
        """Open a host in this process."""
        settings = load_settings(self.environ)
        return Host.open(ProjectIndex(self.folder), settings, concurrency=concurrency)

    @property
    def environ(self) -> dict[str, str]:
        """The variables that say so."""
        return {"TUVL_DATABASE_URL": self.url or "", "TUVL_RECORD_KEY": self.keys}


@pytest.fixture(autouse=True)
def all_events_are_kept_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a process that ends all the time it needs for its last events: no test is about how much it has."""
    monkeypatch.setattr(event_keeping, "CLOSE_S", 60.0)


KINDS = ["sqlite", "postgresql"]


@pytest.fixture(params=KINDS)
def new_site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    """A project in which no host has ever been."""
    url = None if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return Site(make_project(tmp_path), url)


@pytest.fixture(params=KINDS)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    """A project whose database has its tables, and nothing in them: to make them takes longer than most tests."""
    if request.param == "postgresql":
        return Site(make_project(tmp_path), request.getfixturevalue("hosts_url"))
    shutil.copytree(request.getfixturevalue("files_of_a_host"), tmp_path / ".tuvl")
    return Site(make_project(tmp_path), None)


@pytest.fixture
def shared_site(hosts_url: str, tmp_path: Path) -> Site:
    """A project on a database that several processes share."""
    return Site(make_project(tmp_path), hosts_url)


@pytest.fixture(scope="session")
def files_of_a_host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Have the files of a host in which nothing has happened yet."""
    folder = tmp_path_factory.mktemp("host")
    make_tables(Site(folder, None))
    return folder / ".tuvl"


@pytest.fixture
def hosts_url(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Make a PostgreSQL database of a host in which nothing has happened yet."""
    model = postgres.model("hosts", lambda url: make_tables(Site(tmp_path_factory.mktemp("model"), url)))
    with postgres.database(like=model) as url:
        yield url


def make_tables(site: Site) -> None:
    """Have a host for a moment, and in a loop of its own."""

    async def make() -> None:
        async with site.host(concurrency=0) as host:
            await host._registry.access.ready()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, make()).result()


@pytest.fixture
def an_hour_later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Put the clocks of this process forward, so that it is over for which a run waited, and was not before."""

    def forward() -> None:
        monkeypatch.setattr(SystemClock, "now", lambda self: datetime.now(UTC) + timedelta(hours=1))
        clock = SimpleNamespace(time=lambda: time.time() + 3600.0, monotonic=time.monotonic)
        monkeypatch.setattr(performers, "time", clock)

    return forward


Spawn = Callable[..., int]


@pytest.fixture(scope="session")
def victims() -> Iterator["subprocess.Popen[str]"]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TUVL_", "OTEL_"))}
    words = [sys.executable, "-m", "tests.hosting.victims"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=kept) as server:
        yield server
        assert server.stdin
        server.stdin.close()


@pytest.fixture
def spawn(victims: "subprocess.Popen[str]") -> Iterator[Spawn]:
    """Start processes that perform runs; those that are still there at the end are killed."""
    pids: list[int] = []

    def start(site: Site, *, concurrency: int = 5, kill: str | None = None, start: dict | None = None) -> int:
        about = {"cwd": str(site.folder), "environ": site.environ, "concurrency": concurrency}
        asked = {**about, "kill": kill, "start": start}
        assert victims.stdin
        assert victims.stdout
        victims.stdin.write(json.dumps(asked) + "\n")
        victims.stdin.flush()
        pids.append(json.loads(victims.stdout.readline()))
        return pids[-1]

    yield start
    for pid in pids:
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            continue
