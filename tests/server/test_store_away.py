"""A PostgreSQL that is away for a while: who asks is told so, and what ends meanwhile is on record when it is back."""

import asyncio
import time
from dataclasses import replace

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from sqlalchemy import delete, update

from tests.rpc.rpc_support import calling
from tests.server.server_support import problem, serving, shop
from tests.support.gates import opened, reached
from tests.support.postgres import own_server
from tuvl.data import owed_ends
from tuvl.data.control_tables import live_runs, passing_runs
from tuvl.data.run_store import RunStore
from tuvl.errors import StepError
from tuvl.server import readiness

GATED = {"workflow": "gated", "durable": False}
SAFE = "-c listen_addresses=''"
"""Options of a PostgreSQL that loses nothing when it is stopped at once."""
AWAY = health_pb2.HealthCheckResponse.NOT_SERVING


async def until_ready(client) -> None:
    async with asyncio.timeout(30):
        while (await client.get("/readyz")).status_code != 200:
            await asyncio.sleep(0.05)


async def until_kept(server, *run_ids: str) -> None:
    async with asyncio.timeout(30):
        while set(run_ids) & set(server.services.registry.access.owed.ids):
            await asyncio.sleep(0.02)


async def test_while_postgresql_is_away_no_run_is_sent_here_and_requests_are_to_be_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr(readiness, "KNOWN_S", 0.0)
    monkeypatch.setattr("tuvl.server.authentication.KNOWN_S", 0.0)
    project = shop(tmp_path)
    with own_server(SAFE) as postgres, postgres.database() as url:
        settings = replace(project.settings, database_url=url)
        async with calling(project, settings=settings, durable=True) as rpc:
            client = await rpc.server.client()
            health = health_pb2_grpc.HealthStub((await rpc.client()).channel)
            assert (await client.get("/readyz")).json() == {"status": "ready"}
            body = {**GATED, "input": {"gate": "outage"}}
            waiting = asyncio.create_task(client.post("/api/runs", json=body, headers={"Idempotency-Key": "outage"}))
            await reached("outage")
            await asyncio.to_thread(postgres.stop)
            problem(await client.get("/readyz"), 503, "store-unreachable")
            assert (await health.Check(health_pb2.HealthCheckRequest())).status == AWAY
            for path in ("/api/runs", "/api/waits", "/api/agents", "/api/runs/nowhere"):
                refused = await client.get(path)
                problem(refused, 503, "store-unreachable")
                assert refused.headers["retry-after"] == "5"
            for more in ({}, {"mode": "detached"}):
                asked = {"workflow": "quick", "input": {"name": "Ada"}, **more}
                problem(await client.post("/api/runs", json=asked), 503, "store-unreachable")
            opened("outage")
            told = await waiting
            assert (told.status_code, told.json()["status"]) == (200, "completed")
            await asyncio.to_thread(postgres.up)
            await until_ready(client)
            await until_kept(rpc.server, told.json()["run_id"])
            shown = (await client.get(f"/api/runs/{told.json()['run_id']}")).json()
            assert (shown["status"], shown["result"]["context"]["passed"]) == ("completed", True)
            again = await client.post("/api/runs", json=body, headers={"Idempotency-Key": "outage"})
            assert (again.status_code, again.json()["status"]) == (200, "completed")


@pytest.mark.parametrize("kind", ["database_unreachable", "database_busy", "database_broken"])
async def test_a_run_that_ends_while_the_store_is_away_is_not_lost_and_on_record_as_it_ended(
    tmp_path, monkeypatch, kind
):
    monkeypatch.setattr(owed_ends, "PAUSE_S", 0.01)

    async def away(self, *given, **named) -> None:
        raise StepError("away", type=kind)

    async with serving(shop(tmp_path)) as server:
        client, lost = await server.client(), server.services.lost
        waiting = asyncio.create_task(client.post("/api/runs", json={**GATED, "input": {"gate": "ends"}}))
        await reached("ends")
        with monkeypatch.context() as patched:
            patched.setattr(RunStore, "finish", away)
            opened("ends")
            told = (await waiting).json()
            run_id = told["run_id"]
            assert told["status"] == "completed"
            assert list(server.services.registry.access.owed.ids) == [run_id]
            async with server.services.registry.access.store._transaction() as connection:
                await connection.execute(update(passing_runs).values(at=time.time() - 60))
                await connection.execute(delete(live_runs))
            assert [await lost.look() for _ in range(2)] == [[], []], "its process lives"
        await until_kept(server, run_id)
        shown = (await client.get(f"/api/runs/{run_id}")).json()
        assert (shown["status"], shown["result"]["context"]) == ("completed", told["context"])


async def test_a_run_that_is_owed_an_end_when_its_server_closes_down_gets_it_then(tmp_path, monkeypatch):
    failed = []
    finish = RunStore.finish

    async def away_once(self, run_id: str, **named) -> None:
        if not failed:
            failed.append(run_id)
            raise StepError("away", type="database_unreachable")
        await finish(self, run_id, **named)

    monkeypatch.setattr(owed_ends, "PAUSE_S", 3600.0)
    monkeypatch.setattr(RunStore, "finish", away_once)
    async with serving(shop(tmp_path)) as server:
        told = await (await server.client()).post("/api/runs", json={"workflow": "quick", "input": {"name": "Ada"}})
        assert failed == [told.json()["run_id"]]
    async with serving(shop(tmp_path)) as server:
        shown = (await (await server.client()).get(f"/api/runs/{failed[0]}")).json()
        assert shown["status"] == "completed"


async def test_a_run_that_is_cut_off_while_the_store_is_away_is_on_record_as_aborted_when_it_is_back(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(owed_ends, "PAUSE_S", 0.01)

    async def away(self, *given, **named) -> None:
        raise StepError("away", type="database_unreachable")

    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        body = {**GATED, "input": {"gate": "cut"}, "mode": "detached"}
        run_id = (await client.post("/api/runs", json=body)).json()["run_id"]
        await reached("cut")
        with monkeypatch.context() as patched:
            patched.setattr(RunStore, "finish", away)
            (task,) = server.services.live._tasks
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await until_kept(server, run_id)
        assert (await client.get(f"/api/runs/{run_id}")).json()["status"] == "aborted"
        opened("cut")
