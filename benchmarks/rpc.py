"""Starting runs over gRPC, as `benchmarks.server` does it over HTTP: at fixed times, whatever is still under way."""

import asyncio
import json
import time

import grpc

from tuvl.rpc.runs_pb2 import StartRequest, StartResponse


async def starts(address: str, token: str, *, workflow: str, durable: bool, rate: int, seconds: int) -> list[float]:
    """Start detached runs at a steady rate over one connection; returns the seconds until each was accepted."""
    asked = StartRequest(workflow=workflow, input_json=json.dumps({"name": "Ada"}), detached=True, durable=durable)
    metadata = (("authorization", f"Bearer {token}"),)
    async with grpc.aio.insecure_channel(address) as channel:
        call = channel.unary_unary(
            "/tuvl.v1.Runs/Start",
            request_serializer=StartRequest.SerializeToString,
            response_deserializer=StartResponse.FromString,
        )

        async def start(at: float) -> float:
            await asyncio.sleep(max(0.0, at - time.perf_counter()))
            begun = time.perf_counter()
            answer = await call(asked, metadata=metadata)
            assert answer.run_id, answer
            return time.perf_counter() - begun

        # Plans and the connection are made at the first calls.
        for _ in range(5):
            await start(0.0)
        first = time.perf_counter()
        return await asyncio.gather(*(start(first + number / rate) for number in range(rate * seconds)))
