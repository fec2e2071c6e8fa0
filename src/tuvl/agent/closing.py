"""What becomes of a final answer: the run goes on, the answer is asked for again, or it is accepted as an exit."""

from collections.abc import Sequence

from tuvl.agent.exits import Exit
from tuvl.agent.gates import Gates
from tuvl.agent.outcome import BadAnswer, OutcomeContract
from tuvl.agent.ports import Continuation
from tuvl.agent.prompt import correction
from tuvl.dataclass import dataclass
from tuvl.llm.messages import Message


@dataclass(kw_only=True)
class Closing:
    """Judges the final answers of one run."""

    contract: OutcomeContract
    gates: Gates
    retries_left: int = 0
    continuation: Continuation | None = None
    continuations_left: int = 0

    async def judge(self, text: str, turn: int, *, last: bool) -> Exit | Sequence[Message]:
        """Return the exit of an accepted answer, or messages to go on with; raises `BadAnswer`.

        The answer is read only when it is the last word: nobody asks a continuation in the last permitted turn, or
        about an empty reply.
        """
        if self.continuation is not None and self.continuations_left and text.strip() and not last:
            more = await self.continuation.more(turn, text)
            if more:
                self.continuations_left -= 1
                return more
        try:
            return self.contract.finalize_autonomous(await self.gates.output(text))
        except BadAnswer as bad:
            if self.retries_left == 0:
                raise
            self.retries_left -= 1
            return [correction(bad.message, self.contract.plan.enum)]
