"""A paused run of a process that is killed stays paused where it is taken over, and performs nothing there."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.hosting.conftest import Site
from tests.hosting.hosted_project import gated
from tests.hosting.test_takeover import gone
from tuvl.principal import ANY, Principal
from tuvl.settings import load_settings
from tuvl.supervision.opening import open_registry
from tuvl.supervision.registry import RunRegistry
from tuvl.supervision.runs import Directive, RunInfo

OPERATOR = Principal(scopes=frozenset({ANY}))
RUN = "r"


@asynccontextmanager
async def onlooker(site: Site) -> AsyncIterator[RunRegistry]:
    """The registry of a process that has no runs, as a command line has it."""
    registry = open_registry(str(site.folder), load_settings({"TUVL_DATABASE_URL": site.url or ""}), every_run=True)
    try:
        yield registry
    finally:
        await registry.aclose()


async def until_paused(registry: RunRegistry, *, pid: int) -> None:
    async with asyncio.timeout(60):
        while not _is_paused(await registry.get(RUN, OPERATOR), pid):
            await asyncio.sleep(0.02)


def _is_paused(info: RunInfo | None, pid: int) -> bool:
    return info is not None and info.paused and f":{pid}:" in info.owner


@pytest.mark.parametrize("read", [True, False], ids=["on record", "not read yet"])
async def test_a_paused_run_that_is_taken_over_performs_nothing_before_it_is_let_go_on(read, site, spawn):
    with gated("x") as (port, counted, gate):
        first = spawn(site, start={"workflow": "gated", "input": {"origin": port, "case": "x"}, "run_id": RUN})
        await asyncio.to_thread(gate.reached.acquire)
        async with onlooker(site) as registry:
            while await registry.get(RUN, OPERATOR) is None:
                await asyncio.sleep(0.02)
            if not read:
                os.kill(first, signal.SIGSTOP)
            pause = Directive(kind="pause", by="ann")
            assert await registry.direct(RUN, pause, OPERATOR)
            if read:
                found = await registry.wait_settled(pause.id, 60)
                assert found is not None
                assert found.outcome == "applied"
            os.kill(first, signal.SIGKILL)
            await gone(first)
            gate.opened.set()
            await until_paused(registry, pid=spawn(site))
            assert dict(counted.counts) == {"/x/before": 1, "/x/gate": 1}
            assert await registry.direct(RUN, Directive(kind="resume", by="ann"), OPERATOR)
            async with asyncio.timeout(60):
                while not counted.counts["/x/after"]:
                    await asyncio.sleep(0.02)
    assert dict(counted.counts) == {"/x/before": 1, "/x/gate": 2, "/x/after": 1}
