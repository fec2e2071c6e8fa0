"""A database that is away for a while: who performs a run here, or waits for one, sits it out."""

import asyncio

import pytest
import sqlalchemy as sa

from tests.hosting.hosted_project import gated
from tuvl.cli.hosted import hosted, performed_here, run_hosted
from tuvl.control import RunControl
from tuvl.durable.queued import SharedRuns
from tuvl.durable.shared_state import SharedState
from tuvl.errors import ConfigError
from tuvl.hosting.requests import StartRequest
from tuvl.project.index import ProjectIndex
from tuvl.settings import load_settings
from tuvl.tools.approval import AskedLater


def away(*given: object, **named: object) -> object:
    raise sa.exc.OperationalError("", {}, Exception("gone"))


async def until(said: list[str], words: str) -> None:
    async with asyncio.timeout(30):
        while not any(words in line for line in said):
            await asyncio.sleep(0.02)


async def test_a_run_in_the_foreground_goes_on_when_its_database_is_back(site, monkeypatch):
    said: list[str] = []
    project, settings = ProjectIndex(site.folder), load_settings(site.environ)
    with gated("x") as (port, counted, gate):
        async with hosted(project, settings, control=RunControl()) as host:
            request = StartRequest(workflow="gated", input={"origin": port, "case": "x"})
            run_id = await host.start(request, here=True)
            performing = asyncio.create_task(performed_here(host, run_id, RunControl(), say=said.append))
            assert await asyncio.to_thread(gate.reached.acquire, timeout=30)
            with monkeypatch.context() as patched:
                for owner, name in ((SharedRuns, "find"), (SharedState, "settled"), (SharedState, "take")):
                    patched.setattr(owner, name, away)
                await until(said, "does not answer")
                assert not performing.done()
            gate.opened.set()
            document = await asyncio.wait_for(performing, 30)
    assert document["status"] == "completed"
    assert (counted.counts["/x/before"], counted.counts["/x/after"]) == (1, 1)
    assert f"`tuvl resume {run_id}`" in said[0]


async def test_a_start_whose_answer_is_lost_says_how_to_find_out(site, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(SharedRuns, "enqueue", away)
    project, settings = ProjectIndex(site.folder), load_settings(site.environ)
    request = StartRequest(workflow="pay", input={"sum": 1}, run_id="r1")
    with pytest.raises(ConfigError, match="whether it has the run by now, `tuvl resume r1` tells"):
        await run_hosted(
            project, settings, request, control=RunControl(), sinks=[], approvals=AskedLater(), say=said.append
        )
    assert said == []
