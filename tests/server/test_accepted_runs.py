"""A durable run that is accepted and not on the list of runs yet: whoever asks is told of it as of any other."""

import asyncio
from dataclasses import replace

import pytest
from grpc import StatusCode

from tests.rpc.rpc_support import calling, refused
from tests.server.server_support import events_of, problem, serving, shop
from tests.server.test_durable_over_http import GREETED, settled
from tuvl.data.run_store import RunStore
from tuvl.errors import StepError
from tuvl.rpc import runs_pb2 as pb

KEYED = {"Idempotency-Key": "once"}
DETACHED = {**GREETED, "mode": "detached"}


@pytest.fixture(params=["sqlite", "postgresql"])
def served(request, tmp_path):
    """A project, and settings that lead to its database."""
    project = shop(tmp_path)
    url = None if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return {"project": project, "settings": replace(project.settings, database_url=url), "durable": True}


async def away(*given: object) -> None:
    raise StepError("away", type="data")


async def accepted(served, monkeypatch) -> dict:
    """Accept a run in a server that is gone before it is on the list; returns what its client was told."""
    async with serving(**served, concurrency=0) as server:
        client = await server.client("runs:start", id="anna", tenant="north")
        with monkeypatch.context() as patched:
            patched.setattr(RunStore, "queued", away)
            told = await client.post("/api/runs", json=DETACHED, headers=KEYED)
            assert (told.status_code, told.json()["status"]) == (202, "queued"), "it is accepted all the same"
        store = server.services.registry.access.store
        assert await store.retention.known([told.json()["run_id"]]) == set()
    return told.json()


@pytest.mark.parametrize("mode", ["detached", "sync", "stream"])
async def test_a_start_asked_again_after_its_server_died_is_answered_for_the_run_that_was_accepted(
    served, monkeypatch, mode
):
    told = await accepted(served, monkeypatch)
    listing = asyncio.Event()

    async def listed(self: RunStore, run: object) -> None:
        await listing.wait()  # whoever performs it has not come so far
        await reopen(self, run)

    reopen = RunStore.reopen
    monkeypatch.setattr(RunStore, "reopen", listed)
    async with serving(**served) as server:
        client = await server.client("runs:start", "runs:read", id="anna", tenant="north")
        if mode == "detached":
            again = await client.post("/api/runs", json=DETACHED, headers=KEYED)
            assert (again.status_code, again.json()) == (202, told)
            assert again.headers["location"] == f"/api/runs/{told['run_id']}"
            listing.set()
            return
        listing.set()
        async with client.stream("POST", "/api/runs", json={**GREETED, "mode": mode}, headers=KEYED) as answer:
            assert (answer.status_code, answer.headers["location"]) == (200, f"/api/runs/{told['run_id']}")
            if mode == "sync":
                assert '"completed"' in (await answer.aread()).decode()
            else:
                assert (await events_of(answer))[-1]["status"] == "completed"
        assert [run["run_id"] for run in (await client.get("/api/runs")).json()["runs"]] == [told["run_id"]]


async def test_a_run_that_is_accepted_and_not_on_the_list_is_queued_for_its_tenant_and_for_nobody_else(
    served, monkeypatch
):
    run_id = (await accepted(served, monkeypatch))["run_id"]
    async with serving(**served, concurrency=0) as server:
        anna = await server.client("runs:read", "runs:control", id="anna", tenant="north")
        ben = await server.client("runs:read", "runs:control", id="ben", tenant="south")
        for path in (f"/api/runs/{run_id}", f"/api/runs/{run_id}/events"):
            problem(await ben.get(path), 404, "unknown-run")
        problem(await ben.post(f"/api/runs/{run_id}/abort"), 404, "unknown-run")
        problem(await anna.get("/api/runs/nowhere"), 404, "unknown-run")
        assert (await anna.get("/api/runs")).json()["runs"] == [], "nobody who may see it has asked"
        shown = (await anna.get(f"/api/runs/{run_id}")).json()
        told = {name: shown[name] for name in ("run_id", "workflow", "schema_version", "status", "principal", "tenant")}
        assert told == {
            "run_id": run_id,
            "workflow": "quick",
            "schema_version": "v1",
            "status": "queued",
            "principal": "anna",
            "tenant": "north",
        }
        (listed,) = (await anna.get("/api/runs")).json()["runs"]
        assert listed.items() <= shown.items()


async def test_a_run_that_is_accepted_and_not_on_the_list_is_followed_and_ended_like_any_other(served, monkeypatch):
    run_id = (await accepted(served, monkeypatch))["run_id"]
    async with serving(**served, concurrency=0) as server:
        client = await server.client("runs:read", "runs:control", id="anna", tenant="north")
        async with client.stream("GET", f"/api/runs/{run_id}/events") as stream:
            assert stream.status_code == 200
        assert (await client.post(f"/api/runs/{run_id}/abort")).status_code == 202
    async with serving(**served) as server:
        client = await server.client("runs:read", id="anna", tenant="north")
        async with client.stream("GET", f"/api/runs/{run_id}/events") as stream:
            assert (await events_of(stream))[-1]["status"] == "aborted"
        assert (await settled(client, run_id))["status"] == "aborted"


async def test_of_two_servers_asked_with_one_key_at_once_neither_knows_nothing_of_the_run(
    tmp_path, postgres_url, monkeypatch
):
    project = shop(tmp_path)
    settings = replace(project.settings, database_url=postgres_url)
    both = {"settings": settings, "durable": True, "concurrency": 0}
    async with serving(project, **both) as one, serving(project, **both) as two:
        first = await one.client()
        second = two.anyone(Authorization=first.headers["authorization"])
        reached, on = asyncio.Event(), asyncio.Event()
        store = one.services.registry.access.store
        queued = store.queued

        async def listed(run: object) -> None:
            reached.set()
            await on.wait()
            await queued(run)

        monkeypatch.setattr(store, "queued", listed)
        asking = asyncio.create_task(first.post("/api/runs", json=DETACHED, headers=KEYED))
        async with asyncio.timeout(20):
            await reached.wait()
        told = await second.post("/api/runs", json=DETACHED, headers=KEYED)
        assert (told.status_code, told.json()["status"]) == (202, "queued")
        shown = await second.get(told.headers["location"])
        assert (shown.status_code, shown.json()["status"]) == (200, "queued")
        on.set()
        answer = await asking
        assert (answer.status_code, answer.json()) == (202, told.json())
        assert len((await second.get("/api/runs")).json()["runs"]) == 1


async def test_over_grpc_a_run_that_is_accepted_and_not_on_the_list_is_found_too(served, monkeypatch):
    run_id = (await accepted(served, monkeypatch))["run_id"]
    start = pb.StartRequest(workflow="quick", input_json='{"name": "Ada"}', detached=True, idempotency_key="once")
    async with calling(**served, concurrency=0) as rpc:
        ben = await rpc.client("runs:read", id="ben", tenant="south")
        async with refused(StatusCode.NOT_FOUND, "unknown-run"):
            await ben.Get(pb.GetRequest(run_id=run_id))
        anna = await rpc.client("runs:start", "runs:read", id="anna", tenant="north")
        begun = await anna.Start(start)
        assert (begun.run_id, begun.workflow, begun.status) == (run_id, "quick", "queued")
        assert (await anna.Get(pb.GetRequest(run_id=run_id))).status == "queued"
        (listed,) = (await anna.List(pb.ListRequest())).runs
        assert listed.run_id == run_id


async def test_a_start_that_is_accepted_is_answered_though_the_list_can_be_neither_written_nor_read(
    served, monkeypatch
):
    start = pb.StartRequest(workflow="quick", input_json='{"name": "Ada"}', detached=True)
    async with calling(**served, concurrency=0) as rpc:
        client, web = await rpc.client(), await rpc.server.client()
        with monkeypatch.context() as patched:
            patched.setattr(RunStore, "queued", away)
            patched.setattr(RunStore, "show", away)
            begun = await client.Start(start)
            told = await web.post("/api/runs", json=DETACHED)
        assert (told.status_code, told.json()["status"]) == (202, "queued")
        assert (await web.get(told.headers["location"])).json()["status"] == "queued"
        assert begun.status == "queued"
        assert (await client.Get(pb.GetRequest(run_id=begun.run_id))).status == "queued"
