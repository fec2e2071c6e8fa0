"""What a model reads of a tool call: JSON text, cut to the cap, with the size in full kept for the trace."""

from tuvl.dataclass import dataclass
from tuvl.llm.messages import Message
from tuvl.redaction import redact
from tuvl.tools.approval import ApprovalDecision
from tuvl.tools.tool import ToolFailure, ToolOutcome, ToolPlan
from tuvl.values import JsonValue, dump_json, shorten, sound_text

DUPLICATE_NOTICE = '{"notice":"This call repeats an earlier one of this reply and was not run again; see that result."}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One answered call. `size` counts the characters before the cut; `duplicate` calls were not run at all."""

    call_id: str
    tool: str
    content: str
    size: int
    truncated: bool = False
    signal: str = "default"
    failure: ToolFailure | None = None
    duplicate: bool = False
    duration_ms: float = 0.0
    approval: ApprovalDecision | None = None
    """What a person decided on the call, where one was asked."""

    @property
    def failed(self) -> bool:
        """Whether the model was told that the call did not work."""
        return self.failure is not None

    @property
    def message(self) -> Message:
        """The message that answers the call."""
        return Message(role="tool", content=self.content, tool_call_id=self.call_id, name=self.tool)


def result_text(tool: ToolPlan, outcome: ToolOutcome) -> str:
    """Write what the model sees: the failure, else the tool's answer, else what it changed, else `null`."""
    if outcome.failure is not None:
        return failure_text(outcome.failure)
    if outcome.answer is not None:
        return dump_json(outcome.answer)
    if outcome.delta:
        return dump_json(dict(outcome.delta))
    if tool.kind == "Router":  # a router changes nothing; its signal is its answer
        return dump_json({"signal": outcome.signal})
    return "null"


def failure_text(failure: ToolFailure) -> str:
    """Write a failure as the model reads it: type and message, secrets removed."""
    shown: dict[str, JsonValue] = {"type": failure.type, "message": shorten(sound_text(redact(failure.message)), 500)}
    return dump_json({"error": shown})


def refused(call_id: str, tool: str, failure: ToolFailure) -> Observation:
    """Answer a call that does not run, and say why."""
    content = failure_text(failure)
    return Observation(call_id=call_id, tool=tool, content=content, size=len(content), signal="error", failure=failure)


def not_repeated(call_id: str, tool: str) -> Observation:
    """Answer a call that repeats another of its reply."""
    content = DUPLICATE_NOTICE
    return Observation(call_id=call_id, tool=tool, content=content, size=len(content), duplicate=True)


def gated_failure(failure: ToolFailure | None, text: str) -> ToolFailure | None:
    """Return a failure whose text a guard has changed: what it says now, and nothing that could still tell the rest."""
    if failure is None:
        return None
    return ToolFailure(type=failure.type, message=shorten(text, 500))
