"""One tool as a plan holds it, and what its step gives back when it is called."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, Protocol

from tuvl.dataclass import dataclass
from tuvl.llm.messages import ToolSpec
from tuvl.tools.approval import ApprovalRule
from tuvl.tools.schema import ValueSchema
from tuvl.values import JsonObject, JsonValue

ArgValidation = Literal["strict", "lenient", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPlan:
    """One entry of `tools[]`: the step it stands for, what the model is told, and how a call is handled."""

    ref: str
    kind: str
    spec: ToolSpec
    arguments: ValueSchema
    effects: Literal["read", "write"] = "write"
    writes_context: bool = False
    timeout_s: float | None = None
    on_timeout: Literal["fail", "report"] = "fail"
    max_calls: int | None = None
    max_result_chars: int = 8000
    max_result_bytes: int | None = None
    approval: ApprovalRule | None = None
    """When a call needs a person's approval; `None` is never."""
    required_scope: str | None = None
    required_group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFailure:
    """Why a tool call did not work, as the model and the trace read it. A value, not an exception."""

    type: str
    message: str
    detail: JsonObject = field(default_factory=dict)
    cause: BaseException | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """What a tool gave back: its signal, the context keys its step changed, or its failure.

    `answer` is what the model reads of a tool that is no step and so has no context to change.
    """

    signal: str = "default"
    delta: Mapping[str, JsonValue] = field(default_factory=dict)
    answer: JsonValue = None
    failure: ToolFailure | None = None


class ToolDispatch(Protocol):
    """Runs a tool's step; a failed step is an outcome, not an exception."""

    async def __call__(self, ref: str, arguments: JsonObject) -> ToolOutcome:
        """Run the step `ref` with these arguments."""
        ...
