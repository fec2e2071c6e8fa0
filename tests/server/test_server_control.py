"""Runs that go on, seen and told things over HTTP, by those who may."""

import asyncio

import pytest

from tests.server.server_support import events_of, problem, serving, shop
from tests.support.gates import opened, reached


async def begun(client, gate: str) -> str:
    body = {"workflow": "gated", "input": {"gate": gate}, "mode": "detached", "durable": False}
    run_id = (await client.post("/api/runs", json=body)).json()["run_id"]
    await reached(gate)
    return run_id


async def ended(client, run_id: str) -> dict:
    async with client.stream("GET", f"/api/runs/{run_id}/events") as stream:
        await events_of(stream)
    return (await client.get(f"/api/runs/{run_id}")).json()


async def test_runs_that_go_on_are_listed_and_shown_and_no_longer_when_they_have_ended(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        run_id = await begun(client, "listed")
        (shown,) = (await client.get("/api/agents")).json()["agents"]
        assert shown == (await client.get(f"/api/agents/{run_id}")).json()
        assert (shown["run_id"], shown["workflow"], shown["paused"], shown["alive"]) == (run_id, "gated", False, True)
        assert "owner" not in shown, "where a process is, is not a caller's business"
        opened("listed")
        await ended(client, run_id)
        async with asyncio.timeout(20):
            while (await client.get("/api/agents")).json()["agents"]:
                pass
        problem(await client.get(f"/api/agents/{run_id}"), 404, "unknown-run")
        told = problem(await client.post(f"/api/agents/{run_id}/pause"), 409, "not-going-on")
        assert "has ended" in told["detail"]
        stranger = await server.client(tenant="other")
        problem(await stranger.post(f"/api/agents/{run_id}/pause"), 404, "unknown-run")


async def test_a_run_is_paused_resumed_and_aborted_each_once_and_on_record(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        run_id = await begun(client, "told")
        paused = (await client.post(f"/api/agents/{run_id}/pause")).json()
        assert (paused["action"], paused["outcome"], paused["note"]) == ("pause", "applied", None)
        assert (await client.get(f"/api/agents/{run_id}")).json()["paused"] is True
        again = (await client.post(f"/api/agents/{run_id}/pause", json={})).json()
        assert again["note"] == "the run was paused already"
        resumed = (await client.post(f"/api/agents/{run_id}/resume")).json()
        assert resumed["outcome"] == "applied"
        aborted = (await client.post(f"/api/agents/{run_id}/abort", json={"message": "enough"})).json()
        assert aborted["outcome"] == "applied"
        shown = await ended(client, run_id)
        assert shown["status"] == "aborted"
        assert shown["error"]["message"] == "aborted by ci: enough"
        entries = (await client.get(f"/api/runs/{run_id}/trace")).json()["entries"]
        deeds = [(entry["action"], entry["by"]) for entry in entries if entry["type"] == "intervention"]
        assert deeds == [("pause", "ci"), ("pause", "ci"), ("resume", "ci"), ("abort", "ci")]


async def test_a_steer_is_taken_and_kept_and_one_that_says_nothing_is_refused(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        nowhere = f"/api/agents/{'0' * 32}/steer"
        problem(await client.post(nowhere, json={"message": "x"}), 404, "unknown-run")
        problem(await client.post(nowhere, json={"message": " "}), 422, "message-missing")
        problem(await client.post(nowhere, json={"message": 5}), 422, "request-refused")
        problem(await client.post(nowhere, json={"message": "x" * 9000}), 422, "request-refused")
        run_id = await begun(client, "steered")
        told = (await client.post(f"/api/agents/{run_id}/steer", json={"message": "look twice"})).json()
        assert (told["action"], told["outcome"]) == ("steer", "applied")
        assert server.services.live._running[run_id].control._steers == ["look twice"]
        opened("steered")
        await ended(client, run_id)
        (entry,) = (await client.get(f"/api/runs/{run_id}/trace")).json()["entries"]
        assert (entry["action"], entry["message"]) == ("steer", "look twice")


@pytest.mark.parametrize("action", ["pause", "resume", "steer", "abort"])
async def test_a_run_of_another_tenant_cannot_be_told_anything(tmp_path, action):
    async with serving(shop(tmp_path)) as server:
        ours, theirs = await server.client(tenant="a"), await server.client(tenant="b")
        gate = f"tenant-{action}"
        run_id = await begun(ours, gate)
        answer = await theirs.post(f"/api/agents/{run_id}/{action}", json={"message": "x"})
        nowhere = await theirs.post(f"/api/agents/{'0' * 32}/{action}", json={"message": "x"})
        problem(answer, 404, "unknown-run")
        assert answer.content == nowhere.content
        assert (await theirs.get("/api/agents")).json() == {"agents": []}
        problem(await theirs.get(f"/api/agents/{run_id}"), 404, "unknown-run")
        opened(gate)
        assert (await ended(ours, run_id))["status"] == "completed"


async def test_the_operator_of_everything_sees_the_runs_of_every_tenant(tmp_path):
    async with serving(shop(tmp_path)) as server:
        ours, operator = await server.client(tenant="a"), await server.client("*", id="root")
        run_id = await begun(ours, "root")
        assert [each["run_id"] for each in (await operator.get("/api/agents")).json()["agents"]] == [run_id]
        assert (await operator.post(f"/api/agents/{run_id}/abort")).json()["outcome"] == "applied"
        assert (await ended(ours, run_id))["status"] == "aborted"
