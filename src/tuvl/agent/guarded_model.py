"""A model with what surrounds each of its calls: reservation, veto, heartbeat. Each is a `ChatModel` around another."""

import asyncio
import logging
from collections.abc import Callable

from tuvl.agent.ports import RequestObserver, WorkReservation
from tuvl.clock import Clock
from tuvl.complaints import in_a_word, traceback_of
from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.llm.identity import ModelIdentity, identity_of
from tuvl.llm.messages import ChatModel, ModelReply, ModelRequest, Price
from tuvl.llm.retrying import NeedsPreparation, Paced
from tuvl.tools.heartbeat import beating

SETTLE_S = 5.0
"""How long a cancelled call waits for its reservation to be given back, in seconds."""

_log = logging.getLogger("tuvl.agent")


@dataclass(kw_only=True)
class ModelAround:
    """A `ChatModel` that passes everything on; the base of those that add something."""

    inner: ChatModel

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self.inner.name

    @property
    def identity(self) -> ModelIdentity:
        """The inner model's provider and model."""
        return identity_of(self.inner)

    @property
    def price(self) -> Price | None:
        """The inner model's price."""
        return self.inner.price

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on."""
        return await self.inner.complete(request)

    async def prepare(self) -> None:
        """Get the inner model ready, where it has something to load first."""
        if isinstance(self.inner, NeedsPreparation):
            await self.inner.prepare()

    async def turn(self, told: Callable[[float], None]) -> float:
        """Wait until the inner model may be called, where it may be called only so often."""
        return await self.inner.turn(told) if isinstance(self.inner, Paced) else 0.0

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
        except asyncio.CancelledError:
            await self._give_back(request)
            raise
        except Exception as error:
            await self._refund_failed(request, error)
            raise
        if reply.usage is not None:
            await self.reservation.refund(request, reply.usage)
        return reply

    async def _refund_failed(self, request: ModelRequest, error: Exception) -> None:
        """Refund a call that failed; when that fails as well, its failure is told behind the call's own."""
        try:
            await self.reservation.refund(request, None)
        except StepError as second:
            if not isinstance(error, StepError):
                raise
            error.message += f"; and its reservation was not given back: {second.message}"
            error.detail["refund"] = {"type": second.type, "message": second.message}

    async def _give_back(self, request: ModelRequest) -> None:
        """Refund a cancelled call: whoever cancels does not wait long, and hears of nothing else."""
        try:
            async with asyncio.timeout(SETTLE_S):
                await self.reservation.refund(request, None)
        except Exception as error:  # noqa: BLE001 - the cancellation must pass on, whatever the quota's keeper raises
            said = "the reservation of a cancelled model call was not given back: %s"
            _log.warning(said, in_a_word(error), exc_info=traceback_of(error))


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
    beat: Callable[[float], None]
    """Gets the seconds that the call has taken so far."""
    clock: Clock

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Make the call, beating."""
        async with beating(self.every_s, self.beat, self.clock):
            return await self.inner.complete(request)
