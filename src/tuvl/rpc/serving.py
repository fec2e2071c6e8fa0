"""A port for gRPC, beside that for HTTP and in the same process."""

import grpc

from tuvl.errors import UsageError
from tuvl.listening import bind
from tuvl.rpc.health import health_service
from tuvl.rpc.runs_service import SERVICE, runs_service
from tuvl.server.guard import LINGER_BYTES
from tuvl.server.options import ServerOptions
from tuvl.server.services import Services

_MOST_SHORT_CALLS = 1000
"""Calls that are answered at once, besides those that wait for runs and watch them."""


class RpcServer:
    """Serves calls until it is stopped."""

    def __init__(self, server: grpc.aio.Server, address: str) -> None:
        self._server = server
        self.address = address
        """Where clients reach it: host and port."""

    async def stop(self, grace_s: float) -> None:
        """Take no more calls, and let those under way end within so many seconds."""
        await self._server.stop(grace_s)


async def start_rpc(services: Services, host: str, port: int) -> RpcServer:
    """Listen on a port, 0 for a free one; raises `UsageError` when it cannot be had."""
    with bind(host, port, option="--grpc-port") as probe:  # gRPC itself does not say what is wrong with an address
        name = probe.getsockname()[0]
    name = f"[{name}]" if ":" in name else name
    server = grpc.aio.server(options=_options(services.options), maximum_concurrent_rpcs=_most_calls(services.options))
    server.add_generic_rpc_handlers((runs_service(services), health_service(services, SERVICE)))
    try:
        bound = server.add_insecure_port(f"{name}:{port}")
    except RuntimeError:
        raise UsageError(f"cannot serve gRPC on {host!r}, port {port}; see --host and --grpc-port") from None
    await server.start()
    return RpcServer(server, f"{name}:{bound}")


def _most_calls(options: ServerOptions) -> int:
    return options.clients + options.concurrency + _MOST_SHORT_CALLS


def _options(options: ServerOptions) -> list[tuple[str, int]]:
    return [
        ("grpc.so_reuseport", 0),  # a port that somebody else has is not shared with them
        # What is a little too large is read, and refused by us: gRPC itself would not say why.
        ("grpc.max_receive_message_length", options.max_body_bytes + LINGER_BYTES),
        # Clients that are gone without a word are found out, and their runs ended.
        ("grpc.keepalive_time_ms", int(options.heartbeat_s * 1000)),
        ("grpc.keepalive_timeout_ms", int(options.client_patience_s * 1000)),
        ("grpc.keepalive_permit_without_calls", 1),
    ]
