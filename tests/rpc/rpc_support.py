"""A client of gRPC, made from the description of the service alone, as one in any language is."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import pytest
from google.protobuf import message_factory

from tests.server.server_support import Serving, serving
from tuvl.rpc import runs_pb2 as pb
from tuvl.rpc.serving import RpcServer, start_rpc
from tuvl.rpc.statuses import KIND

SERVICE = pb.DESCRIPTOR.services_by_name["Runs"]


class Client:
    """Calls of the service under the names that the description gives them."""

    def __init__(self, address: str, *authorizations: str) -> None:
        self.channel = grpc.aio.insecure_channel(address, options=[("grpc.enable_retries", 0)])
        self.metadata = tuple(("authorization", each) for each in authorizations)

    def __getattr__(self, name: str):
        method = SERVICE.methods_by_name[name]
        make = self.channel.unary_stream if method.server_streaming else self.channel.unary_unary
        call = make(
            f"/{SERVICE.full_name}/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
        )
        return lambda request, **more: call(request, metadata=self.metadata, **more)


class Rpc:
    """A server with both of its ports."""

    def __init__(self, server: Serving, rpc: RpcServer) -> None:
        self.server = server
        self.rpc = rpc
        self.services = server.services
        self.clients: list[Client] = []

    async def client(self, *scopes: str, **who: object) -> Client:
        return self.anyone(f"Bearer {await self.server.token(*scopes, **who)}")

    def anyone(self, *authorizations: str) -> Client:
        client = Client(self.rpc.address, *authorizations)
        self.clients.append(client)
        return client


@asynccontextmanager
async def calling(project, **options: object) -> AsyncIterator[Rpc]:
    """Serve a project over HTTP and gRPC while the block runs."""
    async with serving(project, **options) as server:
        rpc = Rpc(server, await start_rpc(server.services, "127.0.0.1", 0))
        try:
            yield rpc
        finally:
            for run in list(server.services.live._running.values()):
                run.control.abort("the test is over")
            for client in rpc.clients:
                await client.channel.close()
            await rpc.rpc.stop(1.0)


@asynccontextmanager
async def refused(code: grpc.StatusCode, kind: str | None = None) -> AsyncIterator[list[grpc.aio.AioRpcError]]:
    """See that what happens inside is refused; the error is in the list afterwards."""
    found: list[grpc.aio.AioRpcError] = []
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        yield found
    error = caught.value
    assert error.code() is code, (error.code(), error.details())
    if kind is not None:
        assert dict(error.trailing_metadata())[KIND] == kind
    found.append(error)
