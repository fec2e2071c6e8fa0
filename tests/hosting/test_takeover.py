"""Processes that perform runs die, or freeze: whoever is left goes on with their runs, and nothing is done twice."""

import asyncio
import os
import signal
from contextlib import AsyncExitStack

import pytest
import sqlalchemy as sa

from tests.durable.durable_project import EFFECTS, READS, ROWS, counting
from tests.durable.test_crash_matrix import is_unknown, is_write_end
from tests.hosting.conftest import Site, Spawn
from tests.hosting.hosted_project import Gate, gated
from tuvl.durable.postgres import lock_key
from tuvl.durable.shared_tables import SCHEMA
from tuvl.hosting.host import Host
from tuvl.hosting.requests import AnswerRequest, StartRequest
from tuvl.principal import ANY, Principal

OPERATOR = Principal(scopes=frozenset({ANY}))

SHORT = (
    "before keyed#1/end",
    "before plain#1/end!1",
    "after plain#1/end!1",
    "before plain#1/end",
    "before agent#1/turn.m#2",
)
"""One point of each kind; `make soak` takes them all."""

ALL = tuple(f"{moment} {row}" for row in ROWS for moment in ("before", "after"))


async def gone(pid: int) -> None:
    while await asyncio.to_thread(os.path.exists, f"/proc/{pid}"):
        await asyncio.sleep(0.01)


async def settled(host, run_id: str, point: str) -> tuple[dict, bool]:
    """Wait for the end of a run; where it is asked what became of an effect, say so. Returns whether it was."""
    asked = False
    while True:
        document = await host.wait(run_id, 30)
        assert document is not None
        if document["status"] != "suspended":
            return document, asked
        assert not asked
        asked = True
        (waiting,) = [one for one in await host.waits(OPERATOR) if one.run_id == run_id]
        assert waiting.kind == "outcome_unknown"
        outcome = "done" if is_write_end(point) else "retry"
        await host.answer(run_id, AnswerRequest(digest=waiting.digest, value={"outcome": outcome}, by=OPERATOR))
        while await host.state(run_id) == "waiting":
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("point", ALL if os.environ.get("TUVL_SOAK") else SHORT)
async def test_killed_there_a_run_is_taken_over_and_nothing_is_done_twice(point, site, spawn):
    with counting() as (port, counted):
        start = {"workflow": "w", "input": {"origin": str(port), "case": "x"}, "run_id": "r"}
        async with AsyncExitStack() as stack:
            if site.url is not None:
                host = await stack.enter_async_context(site.host(concurrency=0))  # there before, and looks on
            await gone(spawn(site, kill=point, start=start))
            before = dict(counted.counts)
            if site.url is None:
                host = await stack.enter_async_context(site.host(concurrency=0))
            while await host.state("r") == "running":
                await asyncio.sleep(0.02)
            await host.take("r")
            document, asked = await settled_here(host, point)
        counts = {name: counted.counts[f"/x/{name}"] for name in (*EFFECTS, *READS)}
    assert document["status"] == "completed", document["error"]
    assert before.items() <= dict(counted.counts).items() or "keyed" in point or "look" in point
    assert counts.pop("keyed") in (1, 2)
    assert counts.pop("look2") in (1, 2)
    assert set(counts.values()) == {1}, counts
    assert counted.keys["/x/keyed"] == {"key-x"}
    assert asked is is_unknown(point)
    assert document["usage"]["total_tokens"] == 75


async def settled_here(host, point: str) -> tuple[dict, bool]:
    async def taking() -> None:
        while True:  # what was answered is put where anybody may take it
            await asyncio.sleep(0.05)
            if await host.state("r") == "queued":
                await host.take("r")

    helper = asyncio.create_task(taking())
    try:
        return await settled(host, "r", point)
    finally:
        helper.cancel()
        await asyncio.gather(helper, return_exceptions=True)


async def test_the_runs_of_a_killed_process_are_taken_over_by_one_that_is_left(shared_site, spawn):
    cases = [f"c{number}" for number in range(4)]
    with gated(*cases) as (port, counted, gate):
        async with shared_site.host(concurrency=0) as host:
            pid = spawn(shared_site)
            runs = [
                await host.start(StartRequest(workflow="gated", input={"origin": port, "case": case})) for case in cases
            ]
            for _ in cases:
                await asyncio.to_thread(gate.reached.acquire)
            os.kill(pid, signal.SIGKILL)
            spawn(shared_site)
            for _ in cases:  # a second time, in another process
                await asyncio.to_thread(gate.reached.acquire)
            gate.opened.set()
            for run_id in runs:
                assert (await host.wait(run_id, 30) or {})["status"] == "completed"
    for case in cases:
        assert [counted.counts[f"/{case}/{name}"] for name in ("before", "gate", "after")] == [1, 2, 1]


async def test_a_frozen_process_that_was_taken_for_dead_does_nothing_more_of_its_runs(shared_site, spawn):
    with gated("x") as (port, counted, gate):
        async with shared_site.host(concurrency=0) as host:
            zombie, run_id = await frozen(host, shared_site, spawn, port, gate)
            survivor = spawn(shared_site)
            await asyncio.to_thread(gate.reached.acquire)
            gate.opened.set()
            document = await host.wait(run_id, 30)
            os.kill(zombie, signal.SIGCONT)  # it gets its answer now, and goes on as if nothing had happened
            again = await host.start(StartRequest(workflow="gated", input={"origin": port, "case": "y"}))
            assert (await host.wait(again, 30) or {})["status"] == "completed"
            os.kill(survivor, signal.SIGTERM)
            await gone(survivor)
            more = await host.start(StartRequest(workflow="gated", input={"origin": port, "case": "z"}))
            assert (await host.wait(more, 30) or {})["status"] == "completed", "it works again under a lock of its own"
            os.kill(zombie, signal.SIGTERM)
            await gone(zombie)
            assert await host.result(run_id) == document
            assert document is not None
            assert document["status"] == "completed"
            shown = await host._registry.access.store.show(run_id, OPERATOR)
            assert shown is not None
            assert shown["status"] == "completed", "what the frozen one made of it is nowhere to be seen"
    for case in ("x", "y", "z"):
        assert [counted.counts[f"/{case}/{name}"] for name in ("before", "after")] == [1, 1]


async def frozen(host: Host, site: Site, spawn: Spawn, port: int, gate: Gate) -> tuple[int, str]:
    """Freeze a process in the middle of a run, and have all others take it for dead; returns its id and the run's."""
    zombie = spawn(site)
    run_id = await host.start(StartRequest(workflow="gated", input={"origin": port, "case": "x"}))
    await asyncio.to_thread(gate.reached.acquire)
    os.kill(zombie, signal.SIGSTOP)
    (executor,) = host._state.owners()
    end_session(site.url, executor)
    return zombie, run_id


def end_session(url: str, executor: str) -> None:
    """End the session in which a process holds its lock."""
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    key = lock_key(SCHEMA, executor) & (2**64 - 1)
    query = sa.text(
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
        " AND classid::bigint = :high AND objid::bigint = :low"
    )
    with engine.begin() as connection:
        ended = connection.execute(query, {"high": key >> 32, "low": key & (2**32 - 1)}).all()
    engine.dispose()
    assert len(ended) == 1


async def test_a_process_that_is_told_to_end_leaves_its_runs_at_once(shared_site, spawn):
    with gated("x") as (port, counted, gate):
        async with shared_site.host(concurrency=0) as host:
            first = spawn(shared_site)
            run_id = await host.start(StartRequest(workflow="gated", input={"origin": port, "case": "x"}))
            await asyncio.to_thread(gate.reached.acquire)
            os.kill(first, signal.SIGTERM)
            gate.opened.set()
            await gone(first)
            assert await host.state(run_id) == "queued"
            spawn(shared_site)
            assert (await host.wait(run_id, 30) or {})["status"] == "completed"
    assert dict(counted.counts) == {"/x/before": 1, "/x/gate": 1, "/x/after": 1}
