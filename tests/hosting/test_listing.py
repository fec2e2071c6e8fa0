"""A run that is accepted is on the list of runs as soon as anybody asks for it, whatever became of who accepted it."""

from dataclasses import replace

import pytest
from sqlalchemy import delete

from tests.hosting.test_accepting import ONE_AT_A_TIME, OPERATOR, on_record
from tests.hosting.test_sealed_runs import ONE
from tuvl.data.run_store import RunStore
from tuvl.data.run_tables import runs
from tuvl.errors import StepError, UsageError
from tuvl.hosting.requests import AnswerRequest, StartRequest
from tuvl.hosting.workshop import Workshop
from tuvl.principal import Principal
from tuvl.sealing import Unopened

ANN = Principal(id="ann", tenant="north", groups=frozenset({"finance"}), scopes=frozenset())
BEN = Principal(id="ben", tenant="south", scopes=frozenset())
PAY = StartRequest(workflow="pay", input={"sum": 1}, principal=ANN)


async def away(*given: object) -> None:
    raise StepError("away", type="data")


async def unlisted(site, monkeypatch, request: StartRequest = PAY) -> str:
    """Accept a run in a process that comes to nothing more; returns its id."""
    async with site.host(concurrency=0) as host:
        with monkeypatch.context() as patched:
            patched.setattr(RunStore, "queued", away)
            run_id = await host.start(request)
    assert await on_record(site, run_id) is None
    return run_id


async def forgotten(host, run_id: str) -> None:
    """Take a run off the list, and nothing else of it."""
    async with host._registry.access.store._transaction() as connection:
        await connection.execute(delete(runs).where(runs.c.run_id == run_id))


async def test_a_run_of_a_process_that_died_before_listing_it_is_listed_when_it_is_asked_for(site, monkeypatch):
    run_id = await unlisted(site, monkeypatch)
    async with site.host(concurrency=0) as host:
        assert await host.listing.shown(run_id, BEN) is None, "it is of another tenant"
        assert await host.listing.shown("nowhere", ANN) is None
        assert await host.listing.shown("no id/of a run", ANN) is None
        assert await on_record(site, run_id) is None
        shown = await host.listing.shown(run_id, ANN)
        listed = await on_record(site, run_id)
    assert shown == listed
    told = [listed[name] for name in ("run_id", "workflow", "schema_version", "status", "principal", "tenant")]
    assert told == [run_id, "pay", "v1", "queued", "ann", "north"]
    assert listed["started_at"] > "2026"


async def test_a_run_is_shown_by_its_own_record_while_the_list_cannot_be_written(site, monkeypatch):
    run_id = await unlisted(site, monkeypatch)
    async with site.host(concurrency=0) as host:
        with monkeypatch.context() as patched:
            patched.setattr(RunStore, "queued", away)
            unwritten = await host.listing.shown(run_id, ANN)
        assert unwritten == await host.listing.shown(run_id, ANN)


async def test_runs_on_the_queue_that_are_not_on_the_list_come_there_though_nobody_asks(site, monkeypatch):
    (site.folder / "workflows" / "single.yaml").write_text(ONE_AT_A_TIME, encoding="utf-8")
    left = [await unlisted(site, monkeypatch, StartRequest(workflow=name, input={})) for name in ("single",) * 2]
    left.append(await unlisted(site, monkeypatch))
    async with site.host(concurrency=0) as host:
        there = await host.start(PAY)
        before = await on_record(site, there)
        monkeypatch.setattr("tuvl.hosting.listing._AT_ONCE", 2)
        await host.listing.list_queued()
        assert await on_record(site, there) == before
        for run_id in left:
            shown = await on_record(site, run_id)
            assert shown is not None
            assert shown["status"] == "queued"


async def test_a_run_that_cannot_be_performed_is_on_the_list_as_failed_though_nobody_had_listed_it(site, monkeypatch):
    def gone(self: Workshop, *given: object) -> None:
        raise UsageError("its files are gone")

    run_id = await unlisted(site, monkeypatch)
    monkeypatch.setattr(Workshop, "of", gone)
    async with site.host() as host:
        document = await host.wait(run_id, 20)
        assert document is not None
    shown = await on_record(site, run_id)
    assert shown is not None
    assert (shown["status"], shown["error"]["type"], shown["result"]) == ("failed", "not_startable", document)


async def test_a_run_that_has_ended_or_waits_and_is_not_on_the_list_comes_there_as_what_it_is(site, monkeypatch):
    (site.folder / "workflows" / "single.yaml").write_text(ONE_AT_A_TIME, encoding="utf-8")
    async with site.host() as host:
        for request, status in ((replace(PAY, workflow="single", input={}), "completed"), (PAY, "suspended")):
            run_id = await host.start(request)
            document = await host.wait(run_id, 20)
            before = await on_record(site, run_id)
            await forgotten(host, run_id)
            assert await host.listing.shown(run_id, BEN) is None
            shown = await host.listing.shown(run_id, ANN)
            assert shown is not None
            assert before is not None
            assert (shown["status"], shown["result"]) == (status, document)
            assert shown["schema_version"] == before["schema_version"]
            assert shown["finished_at"] is not None
        (wait,) = await host.waits(ANN)
        await host.answer(
            run_id, AnswerRequest(digest=wait.digest, value={"verdict": "leave"}, by=replace(ANN, id="eve"))
        )
        ended = await host.wait(run_id, 20)
        assert ended is not None
    shown = await on_record(site, run_id)
    assert shown is not None
    assert (shown["status"], shown["result"]) == ("completed", ended)


async def test_of_a_run_that_takes_another_key_only_who_sees_all_runs_is_told(site, monkeypatch):
    run_id = await unlisted(replace(site, keys=ONE), monkeypatch)
    async with site.host(concurrency=0) as host:
        assert await host.listing.shown(run_id, ANN) is None, "nobody can tell here whose it is"
        with pytest.raises(Unopened):
            await host.listing.shown(run_id, OPERATOR)
        await host.listing.list_queued()
        assert await on_record(site, run_id) is None
    async with replace(site, keys=ONE).host(concurrency=0) as host:
        shown = await host.listing.shown(run_id, ANN)
        assert shown is not None
        assert shown["status"] == "queued"
