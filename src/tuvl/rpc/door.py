"""What every call passes: its token, its scope, its pace, its form, and the words in which it may fail."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar
from urllib.parse import unquote

import grpc
from google.protobuf.message import DecodeError, Message

from tuvl.rpc.statuses import refusal_of
from tuvl.server.admitting import admitted, must_have
from tuvl.server.authentication import Caller
from tuvl.server.problems import Problem
from tuvl.server.services import Services

Asked = TypeVar("Asked", bound=Message)
Answer = TypeVar("Answer")
Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class Outlet:
    """Where the messages of a stream go out."""

    def __init__(self, context: Context, patience_s: float) -> None:
        self._context = context
        self._patience_s = patience_s

    async def begin(self, run_id: str) -> None:
        """Tell at once which run it is: the answer's metadata has it as `tuvl-run-id`."""
        await self._context.send_initial_metadata((("tuvl-run-id", run_id),))

    async def send(self, message: Message) -> None:
        """Send one; raises `Problem` when the client does not read it in time."""
        try:
            async with asyncio.timeout(self._patience_s):
                await self._context.write(message.SerializeToString())
        except TimeoutError:
            raise Problem(408, "too-slow", "the client does not read what it is sent") from None


class Door:
    """Makes the handlers of one service.

    A call is taken up before its message is there, as if it had several: nothing is read for whoever does not get in,
    and nobody keeps a call open by sending nothing.
    """

    def __init__(self, services: Services, service: str) -> None:
        self._services = services
        self._service = service

    def unary(
        self, name: str, scope: str, form: type[Asked], act: Callable[[Asked, Caller], Awaitable[Message]]
    ) -> Handler:
        """Return what answers a call with one message."""

        async def answer(_: object, context: Context) -> bytes:
            async def whole(caller: Caller) -> bytes:
                return (await act(await self._read(form, context), caller)).SerializeToString()

            return await self._pass(name, scope, context, whole)

        return grpc.stream_unary_rpc_method_handler(answer)

    def stream(
        self, name: str, scope: str, form: type[Asked], act: Callable[[Asked, Caller, Outlet], Awaitable[None]]
    ) -> Handler:
        """Return what answers a call with as many messages as there are."""
        patience_s = self._services.options.client_patience_s

        async def answer(_: object, context: Context) -> None:
            async def whole(caller: Caller) -> None:
                await act(await self._read(form, context), caller, Outlet(context, patience_s))

            await self._pass(name, scope, context, whole)

        return grpc.stream_stream_rpc_method_handler(answer)

    async def _pass(
        self, name: str, scope: str, context: Context, act: Callable[[Caller], Awaitable[Answer]]
    ) -> Answer:
        begun, code = self._services.clock.monotonic(), grpc.StatusCode.OK
        try:
            with self._services.answering():
                return await act(await self._enter(scope, context))
        except asyncio.CancelledError:
            code = grpc.StatusCode.CANCELLED  # the client has left, or its deadline has passed
            raise
        except Exception as error:  # noqa: BLE001 - whatever was overlooked, the client gets an answer and others go on
            refusal = refusal_of(error)
            code = refusal.code
            await context.abort(code, refusal.details, refusal.trailing)
        finally:
            self._count(name, code, self._services.clock.monotonic() - begun)

    async def _read(self, form: type[Asked], context: Context) -> Asked:
        options = self._services.options
        return read(form, await received(context, timeout_s=options.body_timeout_s, most=options.max_body_bytes))

    async def _enter(self, scope: str, context: Context) -> Caller:
        metadata = context.invocation_metadata() or ()
        given = [str(value) for name, value in metadata if name == "authorization"]
        caller = await admitted(self._services, given, address_of(context.peer()))
        must_have(self._services, caller, scope)
        return caller

    def _count(self, name: str, code: grpc.StatusCode, seconds: float) -> None:
        path = f"/{self._service}/{name}"
        self._services.meters.requests.labels("gRPC", path, code.name).inc()
        self._services.meters.request_seconds.labels("gRPC", path).observe(seconds)


def address_of(peer: str) -> str:
    """Return the address in what gRPC calls a peer, without its port: `ipv6:%5B::1%5D:50051` → `::1`."""
    kind, _, rest = unquote(peer).partition(":")
    return rest.rpartition(":")[0].strip("[]") if kind in {"ipv4", "ipv6"} else ""


async def received(context: Context, *, timeout_s: float, most: int) -> bytes:
    """Wait for the message of a call, so many seconds at most; raises `Problem`, also when it has too many bytes."""
    try:
        async with asyncio.timeout(timeout_s):
            data: object = await context.read()
    except TimeoutError:
        raise Problem(408, "too-slow", "the message did not arrive in time") from None
    if not isinstance(data, bytes):
        raise Problem(400, "unreadable", "the call has no message")
    if len(data) > most:
        raise Problem(413, "too-large", f"the message has more than {most} bytes")
    return data


def read(form: type[Asked], data: bytes) -> Asked:
    """Read a message; raises `Problem` for what is none of its form."""
    message = form()
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise Problem(400, "unreadable", "the message cannot be read") from None
    return message
