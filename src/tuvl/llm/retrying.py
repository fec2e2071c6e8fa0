"""A model that calls another one, again where that may help: the only place where a model call is retried."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, runtime_checkable

from tuvl.clock import Clock
from tuvl.errors import ModelError
from tuvl.llm.chat_span import chat_span, tell_reply, tell_wait
from tuvl.llm.failures import may_have_used, timeout_failure
from tuvl.llm.messages import ChatModel, Delta, DeltaSink, ModelReply, ModelRequest, Price, Restarted, TextPiece
from tuvl.llm.meter import Meter
from tuvl.llm.sound import sound_reply
from tuvl.tracing import Span


class RetryPolicy(Protocol):
    """How often a call is attempted, after which failures, and the waits between; seconds."""

    @property
    def attempts(self) -> int:
        """Attempts in all, the first included."""
        ...

    @property
    def on(self) -> frozenset[str]:
        """`timeout` for attempts that took too long, `error` for every other failure that may pass."""
        ...

    @property
    def backoff_s(self) -> float:
        """Wait before the second attempt; doubled for each further one."""
        ...

    @property
    def max_backoff_s(self) -> float:
        """Longest wait, whatever the provider asks for."""
        ...


@runtime_checkable
class NeedsPreparation(Protocol):
    """A model that must load something first, which is not part of any call's time."""

    async def prepare(self) -> None:
        """Get ready; cheap when it is."""
        ...


@runtime_checkable
class Paced(Protocol):
    """A model that may be called only so often; waiting for it is not part of any call's time."""

    async def turn(self, told: Callable[[float], None]) -> float:
        """Wait until a call may be made; `told` hears beforehand how many seconds. Returns how many they were."""
        ...


class RetryingModel:
    """Bounds each attempt, and repeats a failed one as its policy says; `Retry-After` is a floor of the wait.

    A model that may be called only so often is waited for before each attempt. Its replies are sound: see `llm.sound`.
    Cancelling the caller cancels the attempt or the wait. The last error is the one that is raised. What attempts
    without a reply may have used is counted on `meter`; a reply is counted by the caller.
    """

    def __init__(
        self,
        model: ChatModel,
        policy: RetryPolicy,
        *,
        timeout_s: float | None,
        clock: Clock,
        on_attempt: Callable[[int], None] | None = None,
        on_wait: Callable[[float], None] | None = None,
        meter: Meter | None = None,
    ) -> None:
        self._model = model
        self._policy = policy
        self._timeout_s = timeout_s
        self._clock = clock
        self._on_attempt = on_attempt
        self._on_wait = on_wait
        self._meter = meter
        self._prepare = model.prepare if isinstance(model, NeedsPreparation) else None
        self._turn = model.turn if isinstance(model, Paced) else None

    @property
    def name(self) -> str:
        """The name of the model that is called."""
        return self._model.name

    @property
    def price(self) -> Price | None:
        """The price of the model that is called."""
        return self._model.price

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Call the model; raises the `ModelError` of the last attempt."""
        if self._prepare is not None:
            await self._prepare()
        with chat_span(self._model, request) as opened:
            return await self._attempts(request, opened)

    async def _attempts(self, request: ModelRequest, opened: Span) -> ModelReply:
        attempt, waited_s = 1, 0.0
        while True:
            if self._turn is not None:
                waited_s += await self._turn(self._waits)
                tell_wait(opened, waited_s)
            if self._on_attempt is not None:
                self._on_attempt(attempt)
            try:
                reply = await self._attempt(request)
            except ModelError as error:
                if attempt >= self._policy.attempts or not self._worth_another(error):
                    raise
                wait_s = self._wait_s(attempt, error.retry_after_s or 0.0)
            else:
                tell_reply(opened, reply, attempts=attempt)
                return reply
            if request.on_delta is not None:
                await request.on_delta(Restarted())
            await self._clock.sleep(wait_s)
            attempt += 1

    async def aclose(self) -> None:
        """Let go of the model that is called."""
        await self._model.aclose()

    async def _attempt(self, request: ModelRequest) -> ModelReply:
        if self._meter is None:
            return await self._in_time(request)
        heard = _Heard(request.on_delta)
        try:
            return await self._in_time(request if request.on_delta is None else replace(request, on_delta=heard))
        except ModelError as error:
            if may_have_used(error):
                self._meter.count_lost(request, self.price, heard=heard.characters)
            raise
        except asyncio.CancelledError:
            self._meter.count_lost(request, self.price, heard=heard.characters)
            raise

    async def _in_time(self, request: ModelRequest) -> ModelReply:
        timer = asyncio.timeout(self._timeout_s)
        try:
            async with timer:
                return sound_reply(await self._model.complete(request))
        except TimeoutError as error:
            if not timer.expired():
                raise
            raise timeout_failure(self._model.name, self._timeout_s) from error

    def _waits(self, seconds: float) -> None:
        if self._on_wait is not None:
            self._on_wait(seconds)

    def _worth_another(self, error: ModelError) -> bool:
        return error.retryable and ("timeout" if error.type == "timeout" else "error") in self._policy.on

    def _wait_s(self, attempt: int, floor: float) -> float:
        # The exponent is bounded: a thousand attempts must not overflow a float.
        backoff = self._policy.backoff_s * 2.0 ** min(attempt - 1, 30)
        return min(max(backoff, floor), self._policy.max_backoff_s)


class _Heard:
    """Counts the characters of a reply on their way to its sink."""

    def __init__(self, sink: DeltaSink | None) -> None:
        self.characters = 0
        self._sink = sink

    async def __call__(self, delta: Delta) -> None:
        if isinstance(delta, TextPiece):
            self.characters += len(delta.text)
        if self._sink is not None:
            await self._sink(delta)
