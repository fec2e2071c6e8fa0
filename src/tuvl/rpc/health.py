"""`grpc.health.v1.Health/Check`: whether new runs may be sent here, for those who keep the server running.

It needs no token. `Watch` is not offered: it would let anybody keep calls open.
"""

import grpc
from grpc_health.v1 import health_pb2

from tuvl.rpc.door import Context, read, received
from tuvl.rpc.statuses import refusal_of
from tuvl.server.problems import Problem
from tuvl.server.services import Services

SERVICE = "grpc.health.v1.Health"


def health_service(services: Services, served: str) -> grpc.GenericRpcHandler:
    """Return the service; `served` is the name of the one that it tells about, besides the whole server."""

    async def check(_: object, context: Context) -> bytes:
        try:
            options = services.options
            data = await received(context, timeout_s=options.body_timeout_s, most=options.max_body_bytes)
            asked = read(health_pb2.HealthCheckRequest, data)
        except Problem as problem:
            refusal = refusal_of(problem)
            await context.abort(refusal.code, refusal.details, refusal.trailing)
        if asked.service not in {"", served}:
            await context.abort(grpc.StatusCode.NOT_FOUND, "there is no such service")
        try:
            await services.check_ready()
        except Problem:
            return health_pb2.HealthCheckResponse(status="NOT_SERVING").SerializeToString()
        return health_pb2.HealthCheckResponse(status="SERVING").SerializeToString()

    return grpc.method_handlers_generic_handler(SERVICE, {"Check": grpc.stream_unary_rpc_method_handler(check)})
