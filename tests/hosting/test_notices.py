"""Idle processes look rarely: whatever there is to do, somebody tells them."""

import asyncio
import time
from contextlib import asynccontextmanager

import pytest

from tests.hosting.conftest import Site
from tests.hosting.test_lines import until
from tests.hosting.test_takeover import end_session
from tuvl.durable import idling
from tuvl.durable.notices import Notices
from tuvl.hosting.host import Host
from tuvl.hosting.requests import AnswerRequest, StartRequest
from tuvl.principal import Principal

PERSON = Principal(id="ann", groups=frozenset({"finance"}))
SOON_S = 30.0


@pytest.fixture(autouse=True)
def nobody_looks_by_himself(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in {"REST_S": 3600.0, "UNTOLD_S": 3600.0, "BUSY_S": 0.0, "NEWS_S": 0.0}.items():
        monkeypatch.setattr(idling, name, seconds)


@asynccontextmanager
async def idle_worker(site: Site):
    """Have a worker, and somebody who only puts runs on the queue; both of them rest."""
    async with site.host() as worker, site.host(concurrency=0) as other:
        await until(lambda: worker._runs.idling.rest_s == other._runs.idling.rest_s == idling.REST_S)
        yield worker, other


async def ended(host: Host, run_id: str) -> dict:
    return await host.wait(run_id, SOON_S) or {}


async def test_an_idle_worker_takes_at_once_what_another_process_starts_and_what_is_answered_there(
    shared_site: Site,
) -> None:
    async with idle_worker(shared_site) as (_, other):
        run_id = await other.start(StartRequest(workflow="pay", input={"sum": 7}))
        assert (await ended(other, run_id))["status"] == "suspended"
        (waiting,) = await other.waits(PERSON)
        await other.answer(run_id, AnswerRequest(digest=waiting.digest, value={"verdict": "pay"}, by=PERSON))
        assert await _end(other, run_id) == "completed"


async def test_an_idle_worker_aborts_at_once_what_another_process_wants_aborted(shared_site: Site) -> None:
    async with idle_worker(shared_site) as (_, other):
        run_id = await other.start(StartRequest(workflow="pay", input={"sum": 7}))
        assert (await ended(other, run_id))["status"] == "suspended"
        await other.abort(run_id, "enough", "ann")
        assert await _end(other, run_id) == "aborted"


async def test_the_time_for_an_answer_runs_out_in_time_though_the_process_is_idle(site: Site) -> None:
    flow = site.folder / "workflows" / "hurry.yaml"
    flow.write_text(flow.read_text().replace("timeout_s: 600", "timeout_s: 1"))
    async with site.host() as host:
        run_id = await host.start(StartRequest(workflow="hurry"))
        assert await _end(host, run_id) == "completed"
        assert (await ended(host, run_id))["context"]["late"], "it had asked, and nobody had answered"


async def test_notices_are_known_to_come_again_once_the_session_that_brought_them_is_back(shared_site: Site) -> None:
    heard: list[bool] = []
    async with idle_worker(shared_site) as (worker, other):
        trust = worker._runs.idling.trust
        worker._runs.idling.trust = lambda told: (heard.append(told), trust(told))  # type: ignore[method-assign]

        await asyncio.to_thread(end_session, str(shared_site.url), worker.executor)
        await until(lambda: False in heard and heard[-1] is True)
        run_id = await other.start(StartRequest(workflow="pay", input={"sum": 7}))
        assert (await ended(other, run_id))["status"] == "suspended"


async def test_where_no_notice_is_heard_a_queue_is_looked_at_as_often_as_without_them(
    shared_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Notices, "_heard", lambda self, notice: None)  # as behind a pooler
    monkeypatch.setattr(idling, "UNTOLD_S", 0.1)
    async with shared_site.host() as worker, shared_site.host(concurrency=0) as other:
        assert worker._runs.idling.rest_s == idling.UNTOLD_S
        run_id = await other.start(StartRequest(workflow="pay", input={"sum": 7}))
        assert (await ended(other, run_id))["status"] == "suspended"


async def test_starts_that_come_together_are_told_by_few_notices(shared_site: Site) -> None:
    async with idle_worker(shared_site) as (worker, other):
        heard = []
        worker._runs.idling.listen(lambda: heard.append(time.monotonic()))
        tell = other._runs.tell
        assert tell is not None
        for _ in range(1000):
            tell()
        await until(lambda: bool(heard))
        assert len(heard) < 50


async def _end(host: Host, run_id: str) -> str:
    async with asyncio.timeout(SOON_S):
        while True:
            document = await ended(host, run_id)
            if document["status"] != "suspended":
                return str(document["status"])
            await asyncio.sleep(0.02)
