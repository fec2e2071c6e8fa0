"""Forks that are asked for again with their key, over HTTP and gRPC: one run, as with starts."""

import asyncio

import pytest
from grpc import StatusCode

from tests.rpc.rpc_support import calling, refused
from tests.server.server_support import problem, shop
from tests.server.test_durable_over_http import GREETED
from tuvl.data.access_store import AccessStore
from tuvl.hosting.asking import DatabaseAway
from tuvl.hosting.host import Host
from tuvl.rpc import runs_pb2 as pb

SCOPES = ("runs:start", "runs:read", "runs:control")
KEYED = {"Idempotency-Key": "again"}


async def begun(client) -> str:
    return (await client.post("/api/runs", json={**GREETED, "durable": True})).json()["run_id"]


async def test_forks_of_a_caller_with_one_key_are_one_run_whatever_they_come_over(tmp_path):
    async with calling(shop(tmp_path), durable=True) as rpc:
        web, client = await rpc.server.client(*SCOPES, id="anna"), await rpc.client(*SCOPES, id="anna")
        run_id = await begun(web)
        path = f"/api/runs/{run_id}/fork"
        together = await asyncio.gather(*(web.post(path, json={"at": "greet"}, headers=KEYED) for _ in range(4)))
        assert {answer.status_code for answer in together} == {202}
        (forked,) = {answer.json()["run_id"] for answer in together}
        same = await client.Fork(pb.ForkRequest(run_id=run_id, at="greet", idempotency_key="again"))
        assert same.run_id == forked != run_id
        other = await web.post(path, json={"at": "greet"})
        assert other.json()["run_id"] not in (forked, run_id)
        bob = await rpc.server.client(*SCOPES, id="bob")
        theirs = await bob.post(path, json={"at": "greet"}, headers=KEYED)
        assert theirs.json()["run_id"] not in (forked, run_id, other.json()["run_id"])
        assert len((await web.get("/api/runs")).json()["runs"]) == 4
        lines = (await (await rpc.server.client()).get("/metrics")).text.splitlines()
        assert 'tuvl_runs_started_total{durable="true",workflow="quick"} 4.0' in lines


async def test_a_key_that_came_with_something_else_is_refused_for_a_fork(tmp_path):
    async with calling(shop(tmp_path), durable=True) as rpc:
        web, client = await rpc.server.client(*SCOPES, id="anna"), await rpc.client(*SCOPES, id="anna")
        start = {**GREETED, "durable": True}
        run_id = (await web.post("/api/runs", json=start, headers=KEYED)).json()["run_id"]
        path = f"/api/runs/{run_id}/fork"
        problem(await web.post(path, json={"at": "greet"}, headers=KEYED), 422, "key-reused")
        async with refused(StatusCode.INVALID_ARGUMENT, "key-reused"):
            await client.Fork(pb.ForkRequest(run_id=run_id, at="greet", idempotency_key="again"))
        unreadable = {"Idempotency-Key": "k" * 201}
        problem(await web.post(path, json={"at": "greet"}, headers=unreadable), 400, "key-unreadable")


async def test_a_fork_that_is_refused_leaves_its_key_free(tmp_path):
    async with calling(shop(tmp_path), durable=True) as rpc:
        web = await rpc.server.client(*SCOPES, id="anna")
        path = f"/api/runs/{await begun(web)}/fork"
        refusal = await web.post(path, json={"at": "nowhere"}, headers=KEYED)
        assert refusal.status_code == 400
        assert (await web.post(path, json={"at": "greet"}, headers=KEYED)).status_code == 202


@pytest.mark.parametrize("accepted", [True, False])
async def test_a_fork_whose_answer_is_lost_is_made_once_when_it_is_asked_for_again(tmp_path, monkeypatch, accepted):
    fork, released = Host.fork, []

    async def lost(self, *given, **named) -> str:
        if accepted:
            await fork(self, *given, **named)
        raise DatabaseAway("gone")

    async def release(self, key: str) -> None:
        released.append(key)

    async with calling(shop(tmp_path), durable=True) as rpc:
        web = await rpc.server.client(*SCOPES, id="anna")
        run_id = await begun(web)
        path = f"/api/runs/{run_id}/fork"
        with monkeypatch.context() as patched:
            patched.setattr(Host, "fork", lost)
            patched.setattr(AccessStore, "release", release)
            problem(await web.post(path, json={"at": "greet"}, headers=KEYED), 503, "store-unreachable")
        assert released == [], "it may have been accepted"
        again = await web.post(path, json={"at": "greet"}, headers=KEYED)
        once_more = await web.post(path, json={"at": "greet"}, headers=KEYED)
        assert again.json()["run_id"] == once_more.json()["run_id"] != run_id
        assert len((await web.get("/api/runs")).json()["runs"]) == 2
