"""Hosts on both kinds of database, in the process of the test and in others that may be killed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hosting.hosted_project import make_project
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


@pytest.fixture(params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    url = None if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return Site(make_project(tmp_path), url)


@pytest.fixture
def shared_site(postgres_url: str, tmp_path: Path) -> Site:
    """A project on a database that several processes share."""
    return Site(make_project(tmp_path), postgres_url)


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
