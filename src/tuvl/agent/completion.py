"""The single-call strategy of an agent: one request, retried as declared, its reply read once."""

from tuvl.agent.decide import Finish, next_move
from tuvl.agent.exits import Exit, exit_for_error
from tuvl.agent.gates import Gates
from tuvl.agent.limits import Bounds
from tuvl.agent.outcome import BadAnswer, OutcomeContract
from tuvl.agent.transcript import Transcript
from tuvl.clock import Clock
from tuvl.control import RunControl
from tuvl.dataclass import dataclass
from tuvl.errors import ModelError, StepError
from tuvl.llm.messages import ChatModel, Message, ModelRequest
from tuvl.plan.model import AgentPlan


@dataclass(kw_only=True)
class CompletionRunner:
    """One run of one agent in completion mode."""

    agent: AgentPlan
    model: ChatModel
    bounds: Bounds
    contract: OutcomeContract
    gates: Gates
    control: RunControl
    transcript: Transcript
    clock: Clock
    turn: int = 0

    async def run(self, system: str | None, user: str) -> Exit:
        """Make the call; every end is an `Exit`."""
        try:
            with self.control.abortable():
                ended = await self._attempts(system, user)
        except ModelError as error:
            ended = exit_for_error(error)
            if error.type == "timeout":
                ended = Exit(signal="timeout", reason=ended.reason)
        except StepError as error:
            ended = exit_for_error(error)
        self.transcript.close(ended)
        return ended

    async def _attempts(self, system: str | None, user: str) -> Exit:
        self.bounds.require_price(self.model)
        self.bounds.check_turn_start()  # where nothing is left to spend, no judge of the input is asked
        opening = [Message(role="system", content=system)] if system else []
        opening.append(Message(role="user", content=await self.gates.input(user)))
        tries = self.agent.retry.attempts if "parse_error" in self.agent.retry.on else 1
        for self.turn in range(1, tries + 1):
            await self.control.checkpoint()
            self.bounds.check_turn_start()
            try:
                return self.contract.finalize_completion(await self.gates.output(await self._ask(opening)))
            except BadAnswer:
                if self.turn == tries:
                    raise
        raise AssertionError("a completion has at least one attempt")

    async def _ask(self, messages: list[Message]) -> str:
        request = ModelRequest(
            messages=messages,
            max_output_tokens=self.agent.max_output_tokens,
            temperature=self.agent.temperature,
            json_answer=self.agent.outcome.format == "json",
        )
        started = self.clock.monotonic()
        reply = await self.model.complete(request)
        usage = self.bounds.meter.count_reply(request, reply, self.model.price)
        self.transcript.reply(self.turn, reply, usage, (self.clock.monotonic() - started) * 1000)
        self.bounds.check_after_call()
        move = next_move(reply, set())
        if isinstance(move, Finish):
            return move.text
        raise BadAnswer("the model asked for a tool; a completion has none", type="unexpected_tool_call")
