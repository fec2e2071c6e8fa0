"""Where a run stands, as its events tell it; pure."""

from dataclasses import dataclass
from typing import assert_never

from tuvl.cli.wording import cost, count, seconds
from tuvl.events.types import (
    AgentEnded,
    Event,
    Iteration,
    ModelCallStarted,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    ToolCallFinished,
    ToolCallStarted,
)


@dataclass(slots=True)
class Progress:
    """The step a run is in, what it does there, and what the run has used so far."""

    workflow: str = ""
    step: str = ""
    turn: int = 0
    doing: str = ""
    tool_calls: int = 0
    """Of the step, as `turn`."""
    tokens: int = 0
    """Of the run, as `cost_usd`; a cost is `None` when one call had no known price."""
    cost_usd: float | None = 0.0
    _tokens_before: int = 0
    _cost_before: float | None = 0.0

    def follow(self, event: Event) -> None:
        """Take in one event."""
        body = event.body
        match body:
            case RunStarted():
                self.workflow = body.workflow
            case StepStarted():
                self._begin(event.step_id or "")
            case ModelCallStarted():
                self.turn = body.iteration
                self.doing = "thinking" if body.attempt <= 1 else f"attempt {body.attempt}"
            case ToolCallStarted():
                self.turn, self.doing = body.iteration, body.tool
                self.tool_calls += 1
            case Iteration():
                self._count(body)
            case ToolCallFinished() | AgentEnded() | StepFinished() | RunFinished():
                self.doing = ""
            case _:
                assert_never(body)

    def _begin(self, step: str) -> None:
        # An agent reports the totals of one execution; the run's are those before it and its own.
        self._tokens_before, self._cost_before = self.tokens, self.cost_usd
        self.step, self.turn, self.doing, self.tool_calls = step, 0, "", 0

    def _count(self, body: Iteration) -> None:
        self.turn = body.iteration
        self.tokens = self._tokens_before + body.tokens_used
        if self._cost_before is None or body.cost_usd is None:
            self.cost_usd = None
        else:
            self.cost_usd = self._cost_before + body.cost_usd

    def status(self, elapsed_s: float) -> list[str]:
        """Return what there is to say in one line, most important first: a narrow screen leaves out the last."""
        parts = [self.step or self.workflow or "starting"]
        if self.turn:
            parts.append(f"turn {self.turn}")
        if self.doing:
            parts.append(self.doing)
        parts.append(seconds(elapsed_s))
        if self.tokens:
            parts += [count(self.tokens, "token"), cost(self.cost_usd)]
        return parts
