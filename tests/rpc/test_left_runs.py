"""Clients whose run is left to the next process: they are told that it goes on, and are not asked to start again."""

import asyncio
import json

import grpc
from grpc import StatusCode

from tests.rpc.rpc_support import calling, refused
from tests.server.server_support import problem, shop
from tests.support.gates import opened, reached
from tuvl.rpc import runs_pb2 as pb
from tuvl.rpc.statuses import RETRY_AFTER


async def test_who_waits_for_a_run_that_is_left_to_the_next_process_is_asked_for_no_second_start(tmp_path):
    def start(gate: str) -> pb.StartRequest:
        return pb.StartRequest(workflow="gated", input_json=f'{{"gate": "{gate}"}}', durable=True)

    async with calling(shop(tmp_path), durable=True, grace_s=0.1) as rpc:
        client = await rpc.client()

        async def started() -> pb.StartResponse:
            return await client.Start(start("left"))

        waiting = asyncio.create_task(started())
        stream = client.StartAndWatch(start("left-watched"))
        await reached("left")
        await reached("left-watched")
        metadata = dict(await stream.initial_metadata())
        watching = client.Watch(pb.WatchRequest(run_id=metadata["tuvl-run-id"]))
        assert (await watching.read()).type == "run_started"
        await rpc.services.drain()
        run = await waiting
        assert run.status in ("queued", "running")
        assert (run.workflow, run.result_json) == ("gated", "")
        assert (await client.Get(pb.GetRequest(run_id=run.run_id))).run_id == run.run_id
        async with refused(StatusCode.FAILED_PRECONDITION, "goes-on") as errors:
            async for event in stream:
                assert event.type != "run_finished"
        assert RETRY_AFTER not in dict(errors[0].trailing_metadata())
        async with refused(StatusCode.UNAVAILABLE, "closing") as errors:
            while await watching.read() is not grpc.aio.EOF:
                pass
        assert dict(errors[0].trailing_metadata())[RETRY_AFTER] == "5"
        opened("left")
        opened("left-watched")


async def test_callers_of_runs_that_have_no_end_in_time_are_told_the_end_that_is_put_to_them(tmp_path):
    async with calling(shop(tmp_path), grace_s=0.1) as rpc:
        client = await rpc.client()

        async def started() -> pb.StartResponse:
            return await client.Start(pb.StartRequest(workflow="gated", input_json='{"gate": "late"}'))

        waiting = asyncio.create_task(started())
        stream = client.StartAndWatch(pb.StartRequest(workflow="gated", input_json='{"gate": "late-watched"}'))
        await reached("late")
        await reached("late-watched")
        await rpc.services.drain()
        last = [event async for event in stream][-1]
        assert (last.type, json.loads(last.json)["status"]) == ("run_finished", "aborted")
        assert (await waiting).status == "aborted"


async def test_a_browser_that_asks_again_for_the_events_of_its_start_starts_no_other_run(tmp_path):
    async with calling(shop(tmp_path)) as rpc:
        client = await rpc.server.client()
        body = {"workflow": "quick", "input": {"name": "Ada"}}
        for accepted in ({"Accept": "text/event-stream"}, {}, {"Prefer": "respond-async"}):
            headers = {**accepted, "Last-Event-ID": "7"}
            problem(await client.post("/api/runs", json=body, headers=headers), 409, "goes-on")
        assert (await client.get("/api/runs")).json()["runs"] == []
