"""A model with what surrounds each of its calls: reservation, veto, heartbeat. Each is a `ChatModel` around another."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tuvl.agent.ports import RequestObserver, WorkReservation
from tuvl.clock import Clock
from tuvl.llm.messages import ChatModel, ModelReply, ModelRequest, Price


@dataclass(kw_only=True)
class ModelAround:
    """A `ChatModel` that passes everything on; the base of those that add something."""

    inner: ChatModel

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self.inner.name

    @property
    def price(self) -> Price | None:
        """The inner model's price."""
        return self.inner.price

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on."""
        return await self.inner.complete(request)

    async def aclose(self) -> None:
        """Close the inner model."""
        await self.inner.aclose()


@dataclass(kw_only=True)
class ReservedModel(ModelAround):
    """Reserves before each call and settles after it.

    A refused reservation is not refunded; a call that failed is, whole; one that reported no usage is left as reserved.
    """

    reservation: WorkReservation

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Make the call inside its reservation."""
        await self.reservation.reserve(request)
        try:
            reply = await self.inner.complete(request)
        except BaseException:
            await self.reservation.refund(request, None)
            raise
        if reply.usage is not None:
            await self.reservation.refund(request, reply.usage)
        return reply


@dataclass(kw_only=True)
class ObservedModel(ModelAround):
    """Shows each attempt's request to an observer, which may veto it."""

    observer: RequestObserver

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Make the call unless the observer objects."""
        await self.observer.observe_request(request)
        return await self.inner.complete(request)


@dataclass(kw_only=True)
class HeartbeatModel(ModelAround):
    """Gives a sign of life while a call is in flight."""

    every_s: float
    beat: Callable[[], None]
    clock: Clock

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Make the call, beating."""
        async with beating(self.every_s, self.beat, self.clock):
            return await self.inner.complete(request)


@asynccontextmanager
async def beating(every_s: float, beat: Callable[[], None], clock: Clock) -> AsyncIterator[None]:
    """Call `beat` every so many seconds while the block runs, and never after it."""

    async def pulse() -> None:
        while True:
            await clock.sleep(every_s)
            beat()

    task = asyncio.ensure_future(pulse())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait((task,))  # unlike `await task`, tells a cancellation of ours from one of the caller
