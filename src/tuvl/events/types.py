"""The events of a run. Metadata only: names, counts and signals; never an argument, a result or a context value.

The exception is `TextDelta`, which is made only for an agent with `stream: true`.
"""

from datetime import datetime
from typing import ClassVar, Literal, TypeAlias

from tuvl.dataclass import dataclass
from tuvl.tracing import SpanIds


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The first event of every run."""

    type: ClassVar[str] = "run_started"
    workflow: str
    schema_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSuspended:
    """A durable run waits for a person, in a file of its own at the step of the event; that step has no other end yet.

    In the stream that several processes share it stands where a run has waited that went on later; whoever watched then
    was told `RunFinished`.
    """

    type: ClassVar[str] = "suspended"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResumed:
    """A durable run goes on from its record, often in another process; what was told of it is not told again."""

    type: ClassVar[str] = "run_resumed"
    workflow: str
    schema_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    """A step of the spine begins, of the run or of a workflow inside it, or a step runs for one item of a list."""

    type: ClassVar[str] = "step_started"
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """One turn of an agent: its model has replied, and asks for so many tools."""

    type: ClassVar[str] = "iteration"
    iteration: int
    tool_calls: int
    tokens_used: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallStarted:
    """A model call goes out; live views show the turn."""

    type: ClassVar[str] = "model_call_started"
    iteration: int
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallDelayed:
    """A model call waits for so many seconds: its model may be called only so often."""

    type: ClassVar[str] = "model_call_delayed"
    iteration: int
    wait_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStarted:
    """A tool is about to run."""

    type: ClassVar[str] = "tool_call_started"
    iteration: int
    tool: str
    call_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallFinished:
    """A tool call was answered; `signal` is the tool step's, or `error`."""

    type: ClassVar[str] = "tool_call"
    iteration: int
    tool: str
    call_id: str
    signal: str
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested:
    """A tool call waits for a person's decision."""

    type: ClassVar[str] = "approval_requested"
    iteration: int
    tool: str
    call_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDecided:
    """A person, or a standing answer, has decided on a tool call; `by` says who."""

    type: ClassVar[str] = "approval_decided"
    iteration: int
    tool: str
    call_id: str
    approved: bool
    by: str
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A model call, or a tool, is still in flight after so many seconds; `tool` and `call_id` are a tool's."""

    type: ClassVar[str] = "heartbeat"
    iteration: int
    activity: Literal["model", "tool"]
    tool: str | None = None
    call_id: str | None = None
    elapsed_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """The next piece of what an agent's model says; only with `stream: true`. The one event with content in it."""

    type: ClassVar[str] = "text_delta"
    iteration: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallDelta:
    """The reply that is being written asks for this tool; only with `stream: true`."""

    type: ClassVar[str] = "tool_call_delta"
    iteration: int
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReset:
    """The pieces of this turn's reply so far are void: its call failed or was cut off; it may be made again."""

    type: ClassVar[str] = "stream_reset"
    iteration: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWithheld:
    """This agent's text does not go out in pieces, though it has `stream: true`: a guardrail must see it whole."""

    type: ClassVar[str] = "text_withheld"
    iteration: int
    reason: Literal["output_guardrail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnded:
    """No more pieces of this agent follow: its last turn is stored. `finish_reason` is that of its last reply."""

    type: ClassVar[str] = "stream_end"
    iteration: int
    finish_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervened:
    """A rule or the judge of a supervisor, or a person, paused, resumed, steered or aborted the run."""

    type: ClassVar[str] = "supervisor"
    action: Literal["pause", "resume", "steer", "abort"]
    source: Literal["rule", "judge", "operator"]
    by: str
    """Which rule, which judge, or which person."""
    reason: str = ""
    """Why, in names and counts."""
    iteration: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnded:
    """An agent left its loop."""

    type: ClassVar[str] = "outcome"
    iteration: int
    signal: str
    error_type: str | None = None
    """Why, when it ended abnormally: the type that `_last_error_type` shows."""
    tool_calls: int | None = None
    """How many it has made in all, as its run counts them: those that were on record, and those that were cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished:
    """Such a step ended with its signal."""

    type: ClassVar[str] = "step_finished"
    kind: str
    signal: str
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """The last event of every run, exactly once; `dropped` counts those before it that this reader was too slow for."""

    type: ClassVar[str] = "run_finished"
    status: Literal["completed", "failed", "aborted", "suspended"]
    signal: str | None
    duration_ms: float
    dropped: int = 0


EventBody: TypeAlias = (
    RunStarted
    | RunSuspended
    | RunResumed
    | StepStarted
    | ModelCallStarted
    | ModelCallDelayed
    | Iteration
    | ToolCallStarted
    | ToolCallFinished
    | ApprovalRequested
    | ApprovalDecided
    | Heartbeat
    | TextDelta
    | ToolCallDelta
    | StreamReset
    | TextWithheld
    | StreamEnded
    | Intervened
    | AgentEnded
    | StepFinished
    | RunFinished
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event as sinks get it: what happened, in which run and step, when, and as the how-manieth."""

    run_id: str
    seq: int
    at: datetime
    step_id: str | None
    body: EventBody
    span: SpanIds | None = None
    """The span it happened in, when spans are recorded."""
