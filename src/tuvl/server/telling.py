"""What an event says to people, in one line of a log."""

from typing import Literal, TypeAlias, assert_never

from tuvl.analysis.signals import FAILURES
from tuvl.dataclass import dataclass
from tuvl.events.types import (
    AgentEnded,
    ApprovalDecided,
    ApprovalRequested,
    EventBody,
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

LineLook: TypeAlias = Literal["plain", "turn", "tool", "person", "good", "bad"]

_DEEDS = {"pause": "paused", "resume": "resumed", "steer": "steered", "abort": "aborted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line: what it says, and how it stands out."""

    words: str
    look: LineLook = "plain"


def told(body: EventBody) -> Line | None:
    """Return what an event says; `None` for one that says nothing by itself."""
    match body:
        case RunStarted():
            return Line(words="the run began")
        case RunSuspended():
            return Line(words="the run waited for a person", look="person")
        case RunResumed():
            return Line(words="the run goes on from its record")
        case StepStarted():
            return Line(words=f"began ({body.kind})")
        case StepFinished():
            bad = body.signal in FAILURES
            took = seconds(body.duration_ms / 1000)
            return Line(words=f"ended on {body.signal} after {took}", look="bad" if bad else "good")
        case RunFinished():
            return _ended(body)
        case Intervened():
            by = "a person" if body.source == "operator" else f"the {body.source}"
            why = f": {body.reason}" if body.reason else ""
            return Line(words=f"{_DEEDS[body.action]} by {by} ({body.by}){why}", look="person")
        case (
            ModelCallStarted()
            | ModelCallDelayed()
            | Iteration()
            | ToolCallStarted()
            | ToolCallFinished()
            | ApprovalRequested()
            | ApprovalDecided()
            | AgentEnded()
            | StreamReset()
            | TextWithheld()
        ):
            return _of_agent(body)
        case Heartbeat() | TextDelta() | ToolCallDelta() | StreamEnded():
            return None
        case _:
            assert_never(body)


def _of_agent(
    body: ModelCallStarted
    | ModelCallDelayed
    | Iteration
    | ToolCallStarted
    | ToolCallFinished
    | ApprovalRequested
    | ApprovalDecided
    | AgentEnded
    | StreamReset
    | TextWithheld,
) -> Line | None:
    turn = f"turn {body.iteration}"
    match body:
        case ModelCallStarted():
            again = body.attempt > 1
            return Line(words=f"{turn}: the model is asked again, attempt {body.attempt}") if again else None
        case ModelCallDelayed():
            return Line(words=f"{turn}: the model may be called again in {seconds(body.wait_s)}")
        case Iteration():
            asked = f"asks for {count(body.tool_calls, 'tool')}" if body.tool_calls else "answers"
            used = f"{count(body.tokens_used, 'token')}, {cost(body.cost_usd)} so far"
            return Line(words=f"{turn}: the model {asked} · {used}", look="turn")
        case ToolCallStarted():
            return Line(words=f"{turn}: {body.tool} begins", look="tool")
        case ToolCallFinished():
            took = seconds(body.duration_ms / 1000)
            bad = body.signal == "error"
            return Line(words=f"{turn}: {body.tool} → {body.signal} after {took}", look="bad" if bad else "tool")
        case ApprovalRequested():
            return Line(words=f"{turn}: {body.tool} waits for approval", look="person")
        case ApprovalDecided():
            decided = "approved" if body.approved else "refused"
            return Line(words=f"{turn}: {body.tool} was {decided} by {body.by}", look="person")
        case AgentEnded():
            why = f" ({body.error_type})" if body.error_type else ""
            return Line(words=f"{turn}: the agent left its loop on {body.signal}{why}")
        case StreamReset():
            return Line(words=f"{turn}: what the model had said so far is void; its call is made again")
        case TextWithheld():
            return Line(words=f"{turn}: the text is held back until its guardrail has seen it whole")
        case _:
            assert_never(body)


def _ended(body: RunFinished) -> Line:
    took = seconds(body.duration_ms / 1000)
    missed = f"; {count(body.dropped, 'event')} were not told" if body.dropped else ""
    match body.status:
        case "completed":
            on = f" on {body.signal}" if body.signal else ""
            return Line(words=f"the run completed{on} after {took}{missed}", look="good")
        case "suspended":
            return Line(words=f"the run waits for a person{missed}", look="person")
        case "failed" | "aborted":
            return Line(words=f"the run {body.status} after {took}{missed}", look="bad")
        case _:
            assert_never(body.status)
