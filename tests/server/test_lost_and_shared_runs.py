"""Runs whose process is gone, and runs of one key at two servers or with clients that leave: none hangs or is lost."""

import asyncio
import time
from datetime import UTC, datetime

import pytest
from sqlalchemy import update

from tests.server.server_support import events_of, problem, serving, shop
from tests.support.gates import opened, reached
from tuvl.data.control_tables import live_runs, passing_runs
from tuvl.data.run_rows import RunRow
from tuvl.principal import Principal
from tuvl.server.attending import GoesOn
from tuvl.server.known_runs import outcome_outside
from tuvl.supervision import registry

GATED = {"workflow": "gated", "durable": False}


async def lost(server, run_id: str, *, passing: bool = True) -> None:
    """Put a run on record as one of a process that died long ago."""
    store = server.services.registry.access.store
    row = RunRow(
        run_id=run_id,
        workflow="gated",
        schema_version="v1",
        principal=Principal(id="ci"),
        started_at=datetime.now(UTC),
        passing=passing,
    )
    await store.begin(row)
    async with store._transaction() as connection:
        await connection.execute(update(passing_runs).values(at=time.time() - 60))


async def test_a_run_whose_process_is_gone_ends_as_failed_for_everybody(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        looking = server.services.lost
        await lost(server, "gone")
        await lost(server, "durable", passing=False)
        assert await looking.look() == [], "a process may have been away from the store for a while"
        assert await looking.look() == ["gone"]
        shown = (await client.get("/api/runs/gone")).json()
        assert (shown["status"], shown["error"]["type"]) == ("failed", "process_lost")
        async with client.stream("GET", "/api/runs/gone/events") as stream:
            (last,) = await events_of(stream)
        assert (last["type"], last["status"]) == ("run_finished", "failed")
        assert (await client.get("/api/runs/durable")).json()["status"] == "running"
        assert await looking.look() == []


async def test_a_run_that_gives_signs_of_life_is_not_lost(tmp_path, monkeypatch):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        body = {**GATED, "input": {"gate": "alive"}, "mode": "detached"}
        run_id = (await client.post("/api/runs", json=body)).json()["run_id"]
        await reached("alive")
        store = server.services.registry.access.store
        async with store._transaction() as connection:
            await connection.execute(update(passing_runs).values(at=time.time() - 60))
        await server.services.registry.look()
        monkeypatch.setattr(registry, "BEAT_S", float("inf"))  # that was the last sign of life
        assert await store.lost.found() == []
        async with store._transaction() as connection:
            await connection.execute(update(live_runs).values(beat_at=time.time() - 60))
        assert [run.run_id for run in await store.lost.found()] == [run_id]
        assert [await server.services.lost.look() for _ in range(2)] == [[], []], "it goes on here"
        opened("alive")
        async with client.stream("GET", f"/api/runs/{run_id}/events") as stream:
            assert (await events_of(stream))[-1]["status"] == "completed"
        await client.get(f"/api/runs/{run_id}")
        await store.lost.forget_ended()
        assert await store.lost.found() == []


@pytest.mark.parametrize("mode", ["sync", "stream"])
async def test_two_servers_asked_with_one_key_at_once_perform_one_run_and_both_tell_its_end(tmp_path, mode):
    async with serving(shop(tmp_path)) as one, serving(shop(tmp_path)) as two:
        first = await one.client()
        second = two.anyone(Authorization=first.headers["authorization"])
        headers = {"Idempotency-Key": "both"}
        body = {**GATED, "input": {"gate": f"both-{mode}"}, "mode": mode}
        asked = [
            asyncio.create_task(client.post("/api/runs", json=body, headers=headers)) for client in (first, second)
        ]
        await reached(f"both-{mode}")
        opened(f"both-{mode}")
        answers = await asyncio.gather(*asked)
        assert [answer.status_code for answer in answers] == [200, 200]
        assert len((await first.get("/api/runs")).json()["runs"]) == 1
        if mode == "sync":
            assert answers[0].json() == answers[1].json()
        else:
            assert all('"status":"completed"' in answer.text.replace(" ", "") for answer in answers)


async def test_a_key_that_was_taken_by_a_process_which_began_nothing_is_good_for_a_run(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        keys = server.services.registry.access.store.access
        taken = []

        async def claim(key, **given):
            # Somebody else was there before, and died.
            if not taken:
                taken.append(await claims(key, **{**given, "run_id": "theirs", "at": datetime(2020, 1, 1, tzinfo=UTC)}))
            return taken[0].__class__(run_id="theirs", body=given["body"], at=taken[0].at, is_new=False)

        claims, keys.claim = keys.claim, claim
        answer = await client.post(
            "/api/runs", json={"workflow": "quick", "input": {"name": "Ada"}}, headers={"Idempotency-Key": "k"}
        )
        assert (answer.status_code, answer.json()["run_id"]) == (200, "theirs")


async def test_a_durable_run_with_a_key_goes_on_when_a_client_leaves(tmp_path):
    async with serving(shop(tmp_path), durable=True) as server:
        client = await server.client()
        body = {"workflow": "gated", "input": {"gate": "retried"}, "durable": True}
        headers = {"Idempotency-Key": "retried"}
        shaky = server.anyone(Authorization=client.headers["authorization"])
        leaving = asyncio.create_task(shaky.post("/api/runs", json=body, headers=headers))
        await reached("retried")
        waiting = asyncio.create_task(client.post("/api/runs", json=body, headers=headers))
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        await shaky.aclose()
        opened("retried")
        answer = await waiting
        assert (answer.status_code, answer.json()["status"]) == (200, "completed")


async def test_who_waits_for_a_run_elsewhere_is_told_when_the_server_closes_down(tmp_path):
    async with serving(shop(tmp_path)) as server:
        await lost(server, "elsewhere")
        waiting = asyncio.create_task(outcome_outside(server.services, "elsewhere", Principal()))
        server.services.streams.closing.set()
        with pytest.raises(GoesOn):
            await waiting
        problem((await (await server.client()).get("/api/runs/nowhere")), 404, "unknown-run")
