"""Where a run stands, as its events tell it; pure."""

import re
from dataclasses import field
from itertools import accumulate
from typing import TypeAlias, assert_never

from tuvl.dataclass import dataclass
from tuvl.events.types import (
    AgentEnded,
    ApprovalDecided,
    ApprovalRequested,
    Event,
    Heartbeat,
    Intervened,
    Iteration,
    ModelCallDelayed,
    ModelCallStarted,
    RunFinished,
    RunResumed,
    RunStarted,
    RunSuspended,
    StepFinished,
    StepStarted,
    StreamEnded,
    StreamReset,
    TextDelta,
    TextWithheld,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallStarted,
)
from tuvl.wording import cost, count, seconds

AgentEvent: TypeAlias = (
    ModelCallStarted
    | ModelCallDelayed
    | Iteration
    | TextDelta
    | ToolCallDelta
    | TextWithheld
    | StreamReset
    | StreamEnded
    | ToolCallStarted
    | ToolCallFinished
    | ApprovalRequested
    | ApprovalDecided
    | Heartbeat
    | Intervened
    | AgentEnded
)

_ITEM = re.compile(r"\[\d+\]$")


@dataclass(slots=True)
class StepProgress:
    """What one execution of a step, and of those inside it, has done so far."""

    id: str = ""
    turn: int = 0
    _before: int = 0
    """Tool calls of the turns before this one: what was asked for was answered, else there would be no further turn."""
    _asked: int = 0
    _started: int = 0

    @property
    def tool_calls(self) -> int:
        """Tool calls so far. Those that a run has on record do not begin again, and count all the same."""
        return self._before + self._started

    def replied(self, turn: int, asked: int) -> None:
        """Note that a turn's model has asked for so many calls."""
        self.turn = turn
        self._before += self._asked
        self._asked, self._started = asked, 0

    def called(self, turn: int) -> None:
        """Note that a call begins."""
        self.turn = turn
        self._started += 1

    def closed(self, calls: int) -> None:
        """Note how many calls there were in all: those of the last turn do not all begin in this process, or at all."""
        self._before, self._asked, self._started = calls, 0, 0


@dataclass(slots=True)
class Progress:
    """The step a run is in, what it does there, and what the run has used so far."""

    workflow: str = ""
    doing: str = ""
    _open: list[StepProgress] = field(default_factory=list)
    """Steps that have begun and not ended, the outermost first."""
    _ended: StepProgress = field(default_factory=StepProgress)
    _used: dict[str, Iteration] = field(default_factory=dict)
    """What each agent has used in its execution that goes on."""
    _tokens_before: int = 0
    _cost_before: float | None = 0.0

    @property
    def current(self) -> StepProgress:
        """The innermost step that goes on; between steps the one that ended last."""
        return self._open[-1] if self._open else self._ended

    @property
    def tokens(self) -> int:
        """Tokens of the run."""
        return self._tokens_before + sum(used.tokens_used for used in self._used.values())

    @property
    def cost_usd(self) -> float | None:
        """US dollars of the run; `None` when one call had no known price."""
        costs = [self._cost_before, *(used.cost_usd for used in self._used.values())]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    def follow(self, event: Event) -> None:
        """Take in one event."""
        body, step = event.body, event.step_id or ""
        match body:
            case RunStarted() | RunResumed():
                self.workflow, self.doing = body.workflow, ""
            case StepStarted():
                self._open.append(StepProgress(step))
                self.doing = ""
            case StepFinished():
                self._end(step)
            case RunFinished() | RunSuspended():
                self.doing = ""
            case _:
                self._follow_agent(body, step)

    def _follow_agent(self, body: AgentEvent, step: str) -> None:
        match body:
            case ModelCallStarted():
                self._begun(step).turn = body.iteration
                self.doing = "thinking" if body.attempt <= 1 else f"attempt {body.attempt}"
            case ToolCallStarted():
                self._begun(step).called(body.iteration)
                self.doing = body.tool
            case Iteration():
                self._begun(step).replied(body.iteration, body.tool_calls)
                if self._counts(step):
                    self._used[step] = body
            case AgentEnded():
                if (begun := self._begun(step)).id == step and body.tool_calls is not None:
                    begun.closed(body.tool_calls)
                self._settle(step)
            case ApprovalRequested() | ModelCallDelayed() | TextDelta() | ToolCallDelta() | StreamReset():
                self.doing = _doing(body)
            case ToolCallFinished() | ApprovalDecided() | Intervened():
                self.doing = "paused" if isinstance(body, Intervened) and body.action == "pause" else ""
            case Heartbeat() | TextWithheld() | StreamEnded():
                pass
            case _:
                assert_never(body)

    def ended(self, event: Event) -> StepProgress:
        """Return the progress of the step whose end was just followed."""
        return self._ended if self._ended.id == event.step_id else StepProgress(event.step_id or "")

    def _begun(self, step: str) -> StepProgress:
        return next((each for each in reversed(self._open) if each.id == step), self.current)

    def _counts(self, step: str) -> bool:
        """Whether nobody else reports what an agent used: inside a tool it is in the figures of the calling agent."""
        names = {each.id for each in self._open}
        around = accumulate(step.split("/")[:-1], "{}/{}".format)
        return all(_ITEM.sub("", place) in names for place in around)

    def _end(self, step: str) -> None:
        self._settle(step)
        self.doing = ""
        for place in range(len(self._open) - 1, -1, -1):
            if self._open[place].id == step:
                self._ended = self._open.pop(place)
                return

    def _settle(self, step: str) -> None:
        # An agent reports the totals of one execution; the next one begins at zero.
        used = self._used.pop(step, None)
        self.doing = ""
        if used is None:
            return
        self._tokens_before += used.tokens_used
        if self._cost_before is None or used.cost_usd is None:
            self._cost_before = None
        else:
            self._cost_before += used.cost_usd

    def status(self, elapsed_s: float) -> list[str]:
        """Return what there is to say in one line, most important first: a narrow screen leaves out the last."""
        step = self.current
        parts = [step.id or self.workflow or "starting"]
        if step.turn:
            parts.append(f"turn {step.turn}")
        if self.doing:
            parts.append(self.doing)
        parts.append(seconds(elapsed_s))
        if self.tokens:
            parts += [count(self.tokens, "token"), cost(self.cost_usd)]
        return parts


def _doing(body: ApprovalRequested | ModelCallDelayed | TextDelta | ToolCallDelta | StreamReset) -> str:
    match body:
        case ApprovalRequested():
            return f"waiting for approval of {body.tool}"
        case ModelCallDelayed():
            return f"waiting {body.wait_s:.3g} s for the rate limit"
        case TextDelta():
            return "writing"
        case ToolCallDelta():
            return f"asking for {body.tool}"
        case StreamReset():
            return "thinking"
        case _:
            assert_never(body)
