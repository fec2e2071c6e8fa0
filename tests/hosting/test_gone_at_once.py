"""`tuvl runs list` says of a run that processes share whether somebody has it, as soon as that is so."""

import asyncio
import json
import os

import pytest

from tests.durable.durable_project import counting
from tests.hosting.conftest import Site
from tests.hosting.hosted_project import gated
from tuvl.cli import runs
from tuvl.data.run_rows import RunFilter
from tuvl.hosting.requests import StartRequest


@pytest.fixture
def listed(shared_site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """List the one run that there is."""
    monkeypatch.setenv("TUVL_DATABASE_URL", shared_site.url or "")

    async def lists() -> dict:
        command = runs.RunsCommand(project=str(shared_site.folder), principal=None, as_json=True)
        capsys.readouterr()
        assert await asyncio.to_thread(command.list, RunFilter()) == 0
        (run,) = json.loads(capsys.readouterr().out)
        return run

    return lists


async def test_the_run_of_a_process_that_was_killed_is_told_to_be_gone_at_once(shared_site, spawn, listed, monkeypatch):
    monkeypatch.setattr(runs, "DEAD_S", 1e9)
    with counting() as (port, _):
        start = {"workflow": "w", "input": {"origin": str(port), "case": "x"}, "run_id": "r"}
        pid = spawn(shared_site, kill="before plain#1/end", start=start)
        async with asyncio.timeout(60):
            while await asyncio.to_thread(os.path.exists, f"/proc/{pid}"):
                await asyncio.sleep(0.01)
            while (run := await listed()).get("process") != "gone":
                pass  # its session has a moment to end
    assert run["status"] == "running"


async def test_a_run_whose_process_lives_is_not_told_to_be_gone_however_silent_it_is(shared_site, listed, monkeypatch):
    monkeypatch.setattr(runs, "DEAD_S", -1.0)
    with gated("x") as (port, _, gate):
        async with shared_site.host() as host:
            input = {"origin": str(port), "case": "x"}
            run_id = await host.start(StartRequest(workflow="gated", input=input))
            assert await asyncio.to_thread(gate.reached.acquire, timeout=30)
            run = await listed()
            gate.opened.set()
            assert (run["run_id"], run["status"], run.get("process")) == (run_id, "running", None)
            await host.wait(run_id, 30)
