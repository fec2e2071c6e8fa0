"""What the store of runs keeps, as plain rows; imports nothing heavy."""

from collections.abc import Sequence
from datetime import datetime
from uuid import uuid4

from tuvl.control import Intervention
from tuvl.dataclass import dataclass
from tuvl.principal import Principal
from tuvl.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run as it begins."""

    run_id: str
    workflow: str
    schema_version: str
    principal: Principal
    started_at: datetime
    passing: bool = False
    """Whether it lasts no longer than its process, which gives signs of life for it."""


def values_of(run: RunRow, status: str) -> dict[str, object]:
    """Return the columns of a run that has not ended."""
    return {
        "run_id": run.run_id,
        "workflow": run.workflow,
        "schema_version": run.schema_version,
        "status": status,
        "principal": run.principal.id,
        "tenant": run.principal.tenant,
        "started_at": run.started_at,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRun:
    """A run whose process is gone."""

    run_id: str
    workflow: str
    schema_version: str
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in a run something happened, and in which conversation, if any."""

    step_id: str
    iteration: int
    at: datetime
    conversation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyRow:
    """What an audit keeps of a model call besides its usage; `thinking` are the provider's own parts of the reply."""

    request_digest: str
    request_messages: int
    content: str | None
    tool_calls: list[JsonValue]
    thinking: JsonObject
    finish_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRow:
    """What a model call beside the turns was for, and what a judge made of it; never what was judged."""

    purpose: str
    artifact: str | None = None
    site: str | None = None
    verdict: str | None = None
    error_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallRow:
    """One model call: what it used, and when it is audited what was said, or what it was for beside the turns."""

    place: Place
    model: str
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_input_tokens: int
    cost_usd: float | None
    estimated: bool
    duration_ms: float
    reply: ReplyRow | None = None
    beside: "SideRow | None" = None
    audited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRow:
    """One answered tool call, as the model asked and as it was answered."""

    place: Place
    call_id: str
    tool: str
    arguments: JsonObject
    problem: str | None
    signal: str
    content: str
    size: int
    truncated: bool
    duplicate: bool
    error_type: str | None
    error_message: str | None
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """One message of a conversation."""

    role: str
    content: str | None
    tool_calls: list[JsonValue]
    tool_call_id: str | None
    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionRow:
    """What a supervisor or a person did to a run; one of an id is kept once."""

    id: str
    action: str
    source: str
    by: str
    reason: str
    message: str
    step_id: str | None
    iteration: int | None
    at: datetime

    @classmethod
    def of(cls, said: Intervention, message: str, *, at: datetime, id: str | None = None) -> "InterventionRow":
        """Make the row of an intervention; `message` is what it says to the agent, or why it aborts."""
        return cls(
            id=id or uuid4().hex,
            action=said.action,
            source=said.source,
            by=said.by,
            reason=said.reason,
            message=message,
            step_id=said.step_id,
            iteration=said.iteration,
            at=at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs a list shows; `None` asks for nothing."""

    workflow: str | None = None
    status: str | None = None
    principal: str | None = None
    conversation: str | None = None
    before: tuple[datetime, str] | None = None
    """Beginning and id of a run: only those behind it in the list, which is how a list goes on."""
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFilter:
    """Which records of a run a trace shows; `None` asks for nothing."""

    step: str | None = None
    tool: str | None = None


Rows = Sequence[JsonObject]
