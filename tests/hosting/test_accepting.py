"""What is announced is on the queue, whole: whatever fails before leaves nothing, whatever fails after is made good."""

import asyncio
import json
import os
import sys
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from tests.durable.durable_project import counting
from tuvl.data.run_records import StoreAccess
from tuvl.data.run_rows import RunRow
from tuvl.data.run_store import RunStore
from tuvl.durable.line_state import LineState
from tuvl.durable.queued import SharedRuns
from tuvl.errors import ConfigError, StepError
from tuvl.hosting.performers import Performer
from tuvl.hosting.requests import NoSuchRun, StartRequest
from tuvl.principal import ANY, Principal

OPERATOR = Principal(scopes=frozenset({ANY}))
ONE_AT_A_TIME = """\
kind: Workflow
metadata: { name: single, description: One at a time. }
spec:
  limits: { concurrency: 1 }
  steps:
    - { id: done, kind: Functional, runner: set, values: { done: true } }
"""


async def on_record(site, run_id: str) -> dict | None:
    access = StoreAccess(str(site.folder), site.url)
    try:
        return await access.store.show(run_id, OPERATOR)
    finally:
        await access.aclose()


async def queued(site, run_id: str, *, age_s: float) -> None:
    """Have the store of runs say that a run is queued, and nothing else say so."""
    access = StoreAccess(str(site.folder), site.url)
    row = RunRow(
        run_id=run_id,
        workflow="pay",
        schema_version="v1",
        principal=Principal(id="ci"),
        started_at=datetime.now(UTC) - timedelta(seconds=age_s),
    )
    try:
        await access.store.queued(row)
    finally:
        await access.aclose()


async def tuvl(site, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tuvl", *words),
        cwd=site.folder,
        env={**os.environ, **site.environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


def broken(*given: object, **named: object) -> None:
    raise sa.exc.OperationalError("", {}, Exception("gone"))


@pytest.mark.parametrize(("where", "what"), [(LineState, "stand"), (Performer, "open"), (SharedRuns, "enqueue")])
async def test_a_run_that_cannot_be_accepted_is_nowhere(site, monkeypatch, where, what):
    (site.folder / "workflows" / "single.yaml").write_text(ONE_AT_A_TIME, encoding="utf-8")
    monkeypatch.setattr("tuvl.durable.transactions.ATTEMPTS", 1)
    request = StartRequest(workflow="single", run_id="lost")
    async with site.host(concurrency=0) as host:
        with monkeypatch.context() as patched:
            patched.setattr(where, what, broken)
            with pytest.raises((ConfigError, sa.exc.OperationalError)):
                await host.start(request, here=True)
        with pytest.raises(NoSuchRun):
            await host.state("lost")
        assert await on_record(site, "lost") is None
        assert await host.start(request, here=True) == "lost"
        document = await host.wait("lost", 20)
        assert document is not None
        assert document["status"] == "completed"


async def test_a_run_that_is_accepted_is_performed_and_listed_though_the_list_failed_at_first(site, monkeypatch):
    async def failing(self: RunStore, run: RunRow) -> None:
        raise StepError("away", type="data")

    (site.folder / "workflows" / "single.yaml").write_text(ONE_AT_A_TIME, encoding="utf-8")
    async with site.host() as host:
        with monkeypatch.context() as patched:
            patched.setattr(RunStore, "queued", failing)
            run_id = await host.start(StartRequest(workflow="single"))
        document = await host.wait(run_id, 20)
        assert document is not None
        assert document["status"] == "completed"
    shown = await on_record(site, run_id)
    assert shown is not None
    assert shown["status"] == "completed"


async def test_what_is_queued_on_record_and_on_no_queue_ends_as_lost_when_somebody_looks(site):
    await queued(site, "ghost", age_s=3600)
    await queued(site, "young", age_s=5)
    async with site.host(concurrency=0) as host:
        real = await host.start(StartRequest(workflow="pay", input={"sum": 1}))
        await host.end_unqueued()
    ghost = await on_record(site, "ghost")
    assert ghost is not None
    assert (ghost["status"], ghost["error"]["type"]) == ("failed", "process_lost")
    assert "started anew" in ghost["error"]["message"]
    for run_id in ("young", real):
        shown = await on_record(site, run_id)
        assert shown is not None
        assert shown["status"] == "queued"


async def test_the_list_of_runs_shows_no_run_as_queued_that_is_nowhere(site):
    async with site.host(concurrency=0) as host:
        real = await host.start(StartRequest(workflow="pay", input={"sum": 1}))
    await queued(site, "ghost", age_s=3600)
    listing = await tuvl(site, "runs", "list", "--format", "json")
    out, _ = await listing.communicate()
    assert {run["run_id"]: run["status"] for run in json.loads(out)} == {"ghost": "failed", real: "queued"}
    telling = await tuvl(site, "runs", "abort", real)
    _, told = await telling.communicate()
    assert telling.returncode == 1
    assert f"`tuvl runs cancel {real}` ends it" in told.decode()


async def test_killed_as_soon_as_it_is_announced_a_run_is_on_the_queue(shared_site):
    with counting() as (port, _):
        process = await tuvl(shared_site, "run", "w", "--durable", "--set", f"origin={port}", "--set", "case=x")
        assert process.stderr is not None
        said = (await process.stderr.readuntil(b"; a worker")).decode()
        process.kill()
        await process.communicate()
        run_id = said.partition("durable run ")[2].partition(";")[0]
        async with shared_site.host() as host:
            assert await host.state(run_id) in ("queued", "running", "ended")
            document = await host.wait(run_id, 60)
            assert document is not None
