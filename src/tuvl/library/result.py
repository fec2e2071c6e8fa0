"""`AgentResult`: what a run gave, what it cost, and why it ended."""

from dataclasses import field
from typing import Self, TypeVar

from tuvl.agent.exits import ExitReason
from tuvl.dataclass import dataclass
from tuvl.engine.result import Usage
from tuvl.errors import StepError, UsageError
from tuvl.library.typed import NotOfTypeError, read_as
from tuvl.llm.messages import Message
from tuvl.values import JsonObject, JsonValue

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult:
    """The end of one run of an `AgentLoop`."""

    signal: str
    """One of the loop's outcomes (`default` without any), or a reserved exit: `max_iterations`, `budget_exceeded`,
    `error`, `aborted`, `guardrail_violation`."""
    output: JsonValue = None
    """The result that the model gave; `None` after an abnormal end."""
    error: ExitReason | None = None
    """Why the run ended abnormally: `type`, `message`, `detail`, and the original exception as `cause`."""
    usage: Usage = field(default_factory=Usage)
    """Calls, tokens and dollars of the whole run."""
    turns: int = 0
    """Iterations begun."""
    messages: tuple[Message, ...] = field(default=(), repr=False)
    """The conversation as the model last had it, its last reply included. A turn whose calls were not all answered is
    left out, so that the messages can be sent again; the trace has it."""
    trace: tuple[JsonObject, ...] = field(default=(), repr=False)
    """What happened, in order: assistant turns, tool calls, their results, the end."""

    @property
    def ok(self) -> bool:
        """Whether the run ended on one of the loop's own outcomes."""
        return self.error is None

    def raise_for_error(self) -> Self:
        """Return the result of a normal end; raise a `StepError`, with the original as its cause, for another."""
        if self.error is None:
            return self
        error = self.error
        raise StepError(error.message, type=error.type, signal=self.signal, detail=error.detail) from error.cause

    def output_as(self, kind: type[Value]) -> Value:
        """Return the output as a Python type, e.g. a dataclass; raises `UsageError` when it is none."""
        self.raise_for_error()
        try:
            return read_as(self.output, kind)
        except NotOfTypeError as error:
            raise UsageError(f"the output is no {kind.__name__}: {error}") from None
