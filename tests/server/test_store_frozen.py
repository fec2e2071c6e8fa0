"""A PostgreSQL that takes connections and answers nothing: requests end in time, and runs wait until it goes on."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from tests.rpc.rpc_support import calling, refused
from tests.server.server_support import problem, shop
from tests.server.test_store_away import GATED, SAFE, until_ready
from tests.support.gates import opened, reached
from tests.support.postgres import Server, own_server
from tuvl.data import patience
from tuvl.rpc import runs_pb2 as pb

QUICK = {"workflow": "quick", "input": {"name": "Ada"}}
HOWS = ({"mode": "detached"}, {"durable": False}, {"durable": True})
WITHIN_S = 60
"""Longest time for what takes two times the patience at most, on a busy machine."""


@contextmanager
def frozen(server: Server) -> Iterator[None]:
    """Have a server stand still, with all its processes, as one on a machine that was frozen does."""
    first = int((server.folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
    stopped: list[int] = []
    while found := [each for each in (first, *children(first)) if each not in stopped]:
        for each in found:
            os.kill(each, signal.SIGSTOP)
        stopped += found
    try:
        yield
    finally:
        for each in (*stopped, *children(first)):
            try:
                os.kill(each, signal.SIGCONT)
            except ProcessLookupError:
                continue


def children(of: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{of}/task/{of}/children").read_text(encoding="utf-8").split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
async def test_requests_to_a_store_that_does_not_answer_end_in_time_and_are_good_afterwards(tmp_path, monkeypatch):
    monkeypatch.setattr("tuvl.server.authentication.KNOWN_S", 3600.0)  # else no request comes past its token
    project = shop(tmp_path)
    with own_server(SAFE) as postgres, postgres.database() as url:
        settings = replace(project.settings, database_url=url)
        async with calling(project, settings=settings, durable=True) as rpc:
            client = await rpc.server.client()
            caller = await rpc.client()
            kept = (await client.post("/api/runs", json=QUICK)).json()["run_id"]
            await caller.List(pb.ListRequest())
            gated = asyncio.create_task(client.post("/api/runs", json={**GATED, "input": {"gate": "frozen"}}))
            await reached("frozen")

            async def start(key: str, **more: object):
                return await client.post("/api/runs", json={**QUICK, **more}, headers={"Idempotency-Key": key})

            with frozen(postgres), monkeypatch.context() as hurry:
                hurry.setattr(patience, "PATIENCE_S", 1.0)
                async with asyncio.timeout(WITHIN_S):
                    asked = [
                        client.get(path) for path in ("/api/runs", "/api/waits", f"/api/runs/{kept}", "/api/agents")
                    ]
                    asked += [client.post("/api/runs", json={**QUICK, **how}) for how in HOWS]
                    asked += [start(str(number), **how) for number, how in enumerate(HOWS)]
                    for answer in await asyncio.gather(*asked):
                        assert problem(answer, 503, "store-unreachable")
                        assert answer.headers["retry-after"] == "5"
                    for call in (
                        caller.List(pb.ListRequest()),
                        caller.Get(pb.GetRequest(run_id=kept)),
                        caller.Start(pb.StartRequest(workflow="quick", input_json='{"name": "Ada"}', detached=True)),
                    ):
                        async with refused(grpc.StatusCode.UNAVAILABLE, "store-unreachable"):
                            await call
                opened("frozen")
                await asyncio.sleep(0)
            told = await gated
            assert (told.status_code, told.json()["status"]) == (200, "completed")
            await until_ready(client)
            for number, how in enumerate(HOWS):
                first, second = await start(str(number), **how), await start(str(number), **how)
                assert first.status_code in (200, 202)
                assert first.json()["run_id"] == second.json()["run_id"]


async def test_a_run_waits_for_its_store_as_long_as_that_takes_also_where_a_request_has_begun_it(tmp_path):
    looks = """
from tuvl import node
from tuvl.data.patience import in_time

@node("look")
async def look(ctx):
    return {"hurries": in_time().when() is not None}
"""
    project = shop(tmp_path).node(looks, file="looks.py")
    project.workflow("- {id: look, kind: Functional, runner: look}\n")
    with patience.answering():
        assert patience.in_time().when() is not None
        result = await project.run()
    assert result.context["hurries"] is False
