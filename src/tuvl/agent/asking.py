"""One question to the model: history made ready, tools offered, the call made, counted and recorded."""

from contextlib import nullcontext
from dataclasses import replace

from tuvl.agent.history import History
from tuvl.agent.ledger import Ledger
from tuvl.agent.limits import Bounds
from tuvl.agent.offer import Offer
from tuvl.agent.ports import CompletionRecord
from tuvl.agent.prompt import steer_message
from tuvl.agent.steering import RecordedSteers
from tuvl.clock import Clock
from tuvl.control import RunControl, Steered
from tuvl.dataclass import dataclass
from tuvl.errors import ModelError
from tuvl.llm.messages import ChatModel, ModelReply, ModelRequest
from tuvl.tools.toolbox import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """What is asked of the provider besides the messages; `None` leaves it to the provider."""

    max_output_tokens: int | None = None
    temperature: float | None = None
    interruptible: bool = False
    """Whether a steer cancels the call in flight (`steer_mode: interrupt`)."""


@dataclass(kw_only=True)
class Asker:
    """Makes the model calls of one run."""

    model: ChatModel
    toolbox: Toolbox
    offer: Offer
    bounds: Bounds
    control: RunControl
    ledger: Ledger
    clock: Clock
    sampling: Sampling
    steers: RecordedSteers | None = None
    """What the run is told, by its record; `None` takes it from the control."""

    async def ask(self, history: History, turn: int) -> ModelReply:
        """Make one turn's model call; a steer that interrupts it is delivered, and the same turn is asked anew."""
        while True:
            if self.steers is not None:
                self.steers.next_attempt()
            self.toolbox.offer(await self.offer.for_turn(turn))
            request = ModelRequest(
                messages=await history.prepare(turn),
                tools=self.toolbox.specs,
                max_output_tokens=self.sampling.max_output_tokens,
                temperature=self.sampling.temperature,
            )
            started = self.clock.monotonic()
            try:
                reply = await self._interruptibly(request, history)
            except Steered:
                told = await (self.control.checkpoint() if self.steers is None else self.steers.interrupted())
                history.extend(map(steer_message, told))
                self.bounds.check_turn_start()
                continue
            await self._count(request, reply, history, turn, (self.clock.monotonic() - started) * 1000)
            return reply

    async def _interruptibly(self, request: ModelRequest, history: History) -> ModelReply:
        """Call, and let a steer interrupt that; raises `Steered`. A call that is on record ends as it did."""
        steers = self.steers
        if not self.sampling.interruptible:
            return await self._complete(request, history)
        if steers is not None and steers.interrupts_again:
            await self._complete(request, history)
            raise Steered  # it was answered, and the answer came too late
        with nullcontext() if steers is not None and steers.call_is_known else self.control.interruptible():
            return await self._complete(request, history)

    async def _complete(self, request: ModelRequest, history: History) -> ModelReply:
        """Call, and call once more with a shorter history when the provider finds this one too long."""
        try:
            return await self.model.complete(request)
        except ModelError as error:
            if error.type != "context_overflow" or not await history.recover():
                raise
        return await self.model.complete(replace(request, messages=await history.ready()))

    async def _count(
        self, request: ModelRequest, reply: ModelReply, history: History, turn: int, duration_ms: float
    ) -> None:
        usage = self.bounds.meter.count_reply(request, reply, self.model.price)
        history.observe(usage)
        await self.ledger.replied(
            CompletionRecord(iteration=turn, request=request, reply=reply, usage=usage, duration_ms=duration_ms)
        )
        self.bounds.check_after_call()
