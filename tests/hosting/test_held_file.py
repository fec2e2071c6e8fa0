"""A host whose SQLite file cannot be written for a while loses no run, and minds them all when it can be again."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.hosting.conftest import Site
from tests.hosting.hosted_project import gated, make_project
from tuvl.durable import sqlite_file
from tuvl.durable.line_state import LineState
from tuvl.errors import ConfigError
from tuvl.hosting.requests import StartRequest
from tuvl.hosting.taking import Taken

LINED_UP = """\
kind: Workflow
metadata: { name: lined, description: One at a time. }
spec:
  limits: { concurrency: 1 }
  steps:
    - { id: done, kind: Functional, runner: set, values: { done: true } }
"""


@pytest.fixture
def lone_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A project on a file whose locks are not waited for."""
    monkeypatch.setattr(sqlite_file, "BUSY_S", 0.2)
    (make_project(tmp_path) / "workflows" / "lined.yaml").write_text(LINED_UP, encoding="utf-8")
    return Site(tmp_path, None)


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> Callable[[str], object]:
    async def waited(words: str) -> None:
        async with asyncio.timeout(30):
            while words not in caplog.text:
                await asyncio.sleep(0.02)

    return waited


@contextmanager
def held(site: Site) -> Iterator[None]:
    """Keep everybody else from writing: what SQLite says then is as good as what it says of a full disk."""
    file = sqlite3.connect(site.folder / ".tuvl" / "host.sqlite", isolation_level=None, check_same_thread=False)
    file.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        file.execute("ROLLBACK")
        file.close()


async def test_a_run_whose_rows_cannot_be_kept_goes_on_when_they_can_be(lone_site, heard):
    with gated("x") as (port, counted, gate):
        async with lone_site.host() as host:
            run_id = await host.start(StartRequest(workflow="gated", input={"origin": port, "case": "x"}))
            waiting = asyncio.create_task(host.wait(run_id, 60))
            await asyncio.to_thread(gate.reached.acquire)
            with held(lone_site):
                gate.opened.set()
                await heard(f"run '{run_id}' is left until its database is back")
            document = await waiting
    assert document is not None
    assert document["status"] == "completed"
    assert (counted.counts["/x/before"], counted.counts["/x/after"]) == (1, 1)


async def test_the_end_of_a_run_that_cannot_be_kept_is_kept_when_it_can_be(lone_site, heard, monkeypatch):
    perform, performances = Taken.perform, []

    async def ending(self, run_id, *rest):
        ended = await perform(self, run_id, *rest)
        performances.append(run_id)
        holding = held(lone_site)
        holding.__enter__()
        releasing.append(asyncio.create_task(released(holding)))
        return ended

    async def released(holding) -> None:
        await heard("cannot be kept yet")
        holding.__exit__(None, None, None)

    releasing: list[asyncio.Task[None]] = []
    monkeypatch.setattr(Taken, "perform", ending)
    async with lone_site.host() as host:
        run_id = await host.start(StartRequest(workflow="lined", input={}))
        document = await host.wait(run_id, 60)
        await asyncio.gather(*releasing)
    assert document is not None
    assert document["status"] == "completed"
    assert performances == [run_id], "it is not performed a second time"


async def test_a_run_that_cannot_be_put_in_line_is_no_run_that_cannot_be_started(lone_site, monkeypatch):
    enter, tried = LineState.enter, []

    def entering(self, run_id, *rest, **more):
        tried.append(run_id)
        if len(tried) > 1:
            return enter(self, run_id, *rest, **more)
        with held(lone_site):
            return enter(self, run_id, *rest, **more)

    monkeypatch.setattr(LineState, "enter", entering)
    async with lone_site.host() as host:
        run_id = await host.start(StartRequest(workflow="lined", input={}))
        document = await host.wait(run_id, 60)
    assert document is not None
    assert document["status"] == "completed"
    assert tried == [run_id, run_id]


async def test_a_run_whose_files_find_no_room_waits_for_room(lone_site, heard, monkeypatch):
    folder = lone_site.folder / ".tuvl" / "definitions"
    async with lone_site.host(concurrency=0) as host:
        run_id = await host.start(StartRequest(workflow="lined", input={}))
    workflow = lone_site.folder / "workflows" / "lined.yaml"
    workflow.write_text(LINED_UP.replace("One at a time", "Each by itself"), encoding="utf-8")
    shutil.rmtree(folder)
    folder.write_text("there is no room for a folder here", encoding="utf-8")
    async with lone_site.host() as host:
        await heard(f"run '{run_id}' is left")
        assert await host.result(run_id) is None
        folder.unlink()
        document = await host.wait(run_id, 60)
    assert document is not None
    assert document["status"] == "completed"


async def test_times_for_answers_run_out_as_ever_after_the_file_could_not_be_written(lone_site, heard, an_hour_later):
    async with lone_site.host() as host:
        run_id = await host.start(StartRequest(workflow="hurry", input={}))
        document = await host.wait(run_id, 30)
        assert document is not None
        assert document["status"] == "suspended"
        with held(lone_site):
            an_hour_later()
            await heard("what runs are told cannot be read just now")
        async with asyncio.timeout(60):
            while (document := await host.result(run_id)) is None or document["status"] == "suspended":
                await asyncio.sleep(0.05)
    assert (document["status"], document["context"]["late"]) == ("completed", True)


async def test_whoever_starts_a_run_is_told_that_the_database_is_away(lone_site):
    async with lone_site.host(concurrency=0) as host:
        with held(lone_site), pytest.raises(ConfigError, match="does not answer: another program has held its file"):
            await host.start(StartRequest(workflow="lined", input={}))
        assert await host.start(StartRequest(workflow="lined", input={}))
