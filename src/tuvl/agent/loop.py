"""The bounded tool loop: `AgentStepRunner`."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from tuvl.agent.decide import CallTools, Finish, next_move
from tuvl.agent.exits import Exit, IterationsExhausted, exit_for_error
from tuvl.agent.gates import Gates
from tuvl.agent.history import History, Preparation
from tuvl.agent.limits import Bounds
from tuvl.agent.outcome import BadAnswer, OutcomeContract
from tuvl.agent.prompt import correction, steer_message
from tuvl.agent.transcript import Transcript
from tuvl.clock import Clock
from tuvl.control import RunControl
from tuvl.errors import ModelError, StepError
from tuvl.events.types import AgentEnded, EventBody, Iteration
from tuvl.llm.messages import ChatModel, Message, ModelReply, ModelRequest
from tuvl.tools.toolbox import Toolbox


class AgentStepRunner:
    """One run of one autonomous agent. Everything it needs is handed in; it keeps the state of this run only."""

    def __init__(
        self,
        *,
        model: ChatModel,
        toolbox: Toolbox,
        bounds: Bounds,
        contract: OutcomeContract,
        gates: Gates,
        control: RunControl,
        transcript: Transcript,
        emit: Callable[[EventBody], None],
        clock: Clock,
        preparation: Preparation | None = None,
        max_output_tokens: int | None = None,
        temperature: float | None = None,
    ) -> None:
        self.model = model
        self.toolbox = toolbox
        self.bounds = bounds
        self.contract = contract
        self.gates = gates
        self.control = control
        self.transcript = transcript
        self.emit = emit
        self.clock = clock
        self.preparation = preparation or Preparation()
        self.max_output_tokens = max_output_tokens
        self.temperature = temperature
        self.turn = 0
        self.call_ids: set[str] = set()
        self.answer_retries_left = bounds.limits.answer_retries

    async def run(self, system: str, user: str) -> Exit:
        """Run until the agent is done or a bound is reached; every end is an `Exit`."""
        try:
            with self.control.abortable():
                async with self.bounds.wall_clock():
                    ended = await self._turns(system, user)
        except StepError as error:  # the one place where a failure becomes an exit
            ended = exit_for_error(error)
        except asyncio.CancelledError:  # somebody else's deadline; every call still gets its one result
            self.transcript.interrupt("cancelled")
            raise
        self.transcript.close(ended)
        self.emit(AgentEnded(iteration=self.turn, signal=ended.signal))
        return ended

    async def _turns(self, system: str, user: str) -> Exit:
        self.bounds.require_price(self.model.name, self.model.price)
        user = await self.gates.input(user)
        opening = [Message(role="system", content=system), Message(role="user", content=user)]
        history = History(opening, self.preparation)
        for turn in range(1, self.bounds.limits.max_iterations + 1):
            self.turn = turn
            history.extend(map(steer_message, await self.control.checkpoint()))  # parks while paused
            self.bounds.check_turn_start()

            move = next_move(await self._ask(history), self.call_ids)
            self.transcript.move(move)
            history.append(move.message)
            self._turn_decided(move)
            match move:
                case Finish(text=text):
                    try:
                        return self.contract.finalize_autonomous(await self.gates.output(text))
                    except BadAnswer as bad:
                        history.append(self._ask_again(bad))
                case CallTools(calls=calls):
                    self.bounds.reserve_calls(calls)
                    seen = await self.toolbox.answer(calls, turn=turn, record=self.transcript)
                    history.extend(observation.message for observation in seen)
                    self.bounds.check_results(calls, seen)
                case unreachable:
                    assert_never(unreachable)
        self.control.raise_if_aborted()  # an abort in the last turn is an abort
        raise IterationsExhausted(self.bounds.limits.max_iterations)

    async def _ask(self, history: History) -> ModelReply:
        messages = await history.prepare(self.turn)
        self.toolbox.offer(None if history.offers_tools(self.turn) else frozenset())
        request = ModelRequest(
            messages=messages,
            tools=self.toolbox.specs,
            max_output_tokens=self.max_output_tokens,
            temperature=self.temperature,
        )
        started = self.clock.monotonic()
        reply = await self._complete(request, history)
        usage = self.bounds.meter.count_reply(request, reply, self.model.price)
        history.observe(usage)
        self.transcript.reply(self.turn, reply, usage, (self.clock.monotonic() - started) * 1000)
        self.bounds.check_after_call()
        return reply

    async def _complete(self, request: ModelRequest, history: History) -> ModelReply:
        try:
            return await self.model.complete(request)
        except ModelError as error:
            if error.type != "context_overflow" or not await history.recover():
                raise
        return await self.model.complete(replace(request, messages=history.messages))

    def _ask_again(self, bad: BadAnswer) -> Message:
        if self.answer_retries_left == 0:
            raise bad
        self.answer_retries_left -= 1
        return correction(bad.message, self.contract.plan.enum)

    def _turn_decided(self, move: Finish | CallTools) -> None:
        meter = self.bounds.meter
        self.emit(
            Iteration(
                iteration=self.turn,
                tool_calls=len(move.calls) if isinstance(move, CallTools) else 0,
                tokens_used=meter.total_tokens,
                cost_usd=meter.cost_usd,
            )
        )
