"""`grpc.health.v1.Health/Check`: whether new runs may be sent here, for those who keep the server running.

It needs no token. `Watch` is not offered: it would let anybody keep calls open.
"""

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2

from tuvl.rpc.door import Context
from tuvl.server.problems import Problem
from tuvl.server.services import Services

SERVICE = "grpc.health.v1.Health"


def health_service(services: Services, served: str) -> grpc.GenericRpcHandler:
    """Return the service; `served` is the name of the one that it tells about, besides the whole server."""

    async def check(data: bytes, context: Context) -> bytes:
        try:
            asked = health_pb2.HealthCheckRequest.FromString(data)
        except DecodeError:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the message cannot be read")
        if asked.service not in {"", served}:
            await context.abort(grpc.StatusCode.NOT_FOUND, "there is no such service")
        try:
            await services.check_ready()
        except Problem:
            return health_pb2.HealthCheckResponse(status="NOT_SERVING").SerializeToString()
        return health_pb2.HealthCheckResponse(status="SERVING").SerializeToString()

    return grpc.method_handlers_generic_handler(SERVICE, {"Check": grpc.unary_unary_rpc_method_handler(check)})
