"""The bounded tool loop: `AgentStepRunner`."""

import asyncio
from collections.abc import Callable, Sequence
from typing import assert_never

from tuvl.agent.asking import Asker
from tuvl.agent.closing import Closing
from tuvl.agent.decide import CallTools, Finish, next_move
from tuvl.agent.exits import Exit, IterationsExhausted, exit_for_error
from tuvl.agent.gates import Gates
from tuvl.agent.history import History, Preparation
from tuvl.agent.ledger import Ledger
from tuvl.agent.limits import Bounds
from tuvl.agent.ports import Overseer
from tuvl.agent.prompt import steer_message
from tuvl.agent.steering import RecordedSteers
from tuvl.agent.turn_span import tell_move, turn_span
from tuvl.control import RunControl
from tuvl.errors import StepError
from tuvl.events.types import AgentEnded, EventBody, Iteration
from tuvl.tools.result import Observation
from tuvl.tools.toolbox import RequestedCall, Toolbox
from tuvl.tracing import Span


class AgentStepRunner:
    """One run of one autonomous agent. Everything it needs is handed in; it keeps the state of this run only."""

    def __init__(
        self,
        *,
        asker: Asker,
        toolbox: Toolbox,
        bounds: Bounds,
        closing: Closing,
        gates: Gates,
        control: RunControl,
        ledger: Ledger,
        emit: Callable[[EventBody], None],
        preparation: Preparation | None = None,
        overseer: Overseer | None = None,
        steers: RecordedSteers | None = None,
    ) -> None:
        self.asker = asker
        self.toolbox = toolbox
        self.bounds = bounds
        self.closing = closing
        self.gates = gates
        self.control = control
        self.ledger = ledger
        self.emit = emit
        self.preparation = preparation or Preparation()
        self.overseer = overseer
        self.steers = control.checkpoint if steers is None else steers.between_turns
        self.turn = 0
        self.call_ids: set[str] = set()
        self.history: History | None = None
        """The conversation, once it has begun."""

    @property
    def iterations(self) -> int:
        """Model calls that were answered; a turn that a bound stopped before its call is none."""
        return self.ledger.transcript.turn

    async def run(self, system: str, user: str) -> Exit:
        """Run until the agent is done or a bound is reached; every end is an `Exit`."""
        try:
            with self.control.abortable():
                async with self.bounds.wall_clock():
                    self.bounds.check_turn_start()  # where nothing is left to spend, no judge of the input is asked
                    ended = await self._turns(system, await self.gates.input(user))
        except StepError as error:  # the one place where a failure becomes an exit
            ended = exit_for_error(error)
        except asyncio.CancelledError:  # somebody else's deadline; every call still gets its one result
            self.ledger.interrupted("cancelled")
            raise
        self.ledger.closed(ended)
        error_type = None if ended.reason is None else ended.reason.type
        calls = self.bounds.calls
        self.emit(AgentEnded(iteration=self.iterations, signal=ended.signal, error_type=error_type, tool_calls=calls))
        return ended

    async def _turns(self, system: str, user: str) -> Exit:
        self.bounds.require_price(self.asker.model)
        self.history = history = History.opening(system, user, self.preparation)
        await self.ledger.opened(history.messages)
        most = self.bounds.limits.max_iterations
        for self.turn in range(1, most + 1):
            if self.overseer is not None:
                await self.overseer.before_turn(self.turn)
            history.extend(map(steer_message, await self.steers()))  # parks while paused
            self.bounds.check_turn_start()
            with turn_span(self.ledger.transcript.step_id, self.turn) as opened:
                ended = await self._turn(history, opened, last=self.turn == most)
            if ended is not None:
                return ended
        self.control.raise_if_aborted()  # an abort in the last turn is an abort
        raise IterationsExhausted(most)

    async def _turn(self, history: History, opened: Span, *, last: bool) -> Exit | None:
        move = next_move(await self.asker.ask(history, self.turn), self.call_ids)
        history.append(move.message)
        await self.ledger.decided(move)
        tell_move(opened, move, tokens_used=self.bounds.meter.total_tokens)
        self._emit_iteration(move)
        match move:
            case Finish(text=text):
                verdict = await self.closing.judge(text, self.turn, last=last)
                if isinstance(verdict, Exit):
                    return verdict
                history.extend(verdict)
                self._told((), ())
            case CallTools(calls=calls):
                await self.bounds.reserve_calls(calls)
                observations = await self.toolbox.answer(calls, turn=self.turn, record=self.ledger)
                results = [observation.message for observation in observations]
                history.extend(results)
                await self.ledger.observed(results)
                self.bounds.check_results(calls, observations)
                self._told(calls, observations)
            case unreachable:
                assert_never(unreachable)
        return None

    def _told(self, calls: Sequence[RequestedCall], observations: Sequence[Observation]) -> None:
        if self.overseer is not None:
            self.overseer.turn_ended(calls, observations)

    def _emit_iteration(self, move: Finish | CallTools) -> None:
        meter = self.bounds.meter
        asked = len(move.calls) if isinstance(move, CallTools) else 0
        self.emit(
            Iteration(iteration=self.turn, tool_calls=asked, tokens_used=meter.total_tokens, cost_usd=meter.cost_usd)
        )
