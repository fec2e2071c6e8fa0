"""How an agent ends: one signal of its closed set, what it writes, and why, when it ended abnormally."""

from collections.abc import Mapping
from dataclasses import field

from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.redaction import redact
from tuvl.spec.signals import Reserved
from tuvl.values import JsonObject, JsonValue, dollars, number_text, shorten


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitReason:
    """Why an agent ended abnormally; `cause` is the original exception, for people who call from Python."""

    type: str
    message: str
    detail: JsonObject = field(default_factory=dict)
    cause: BaseException | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """The end of one agent. `writes` are the context keys it sets, on a normal end only."""

    signal: str
    writes: Mapping[str, JsonValue] = field(default_factory=dict)
    reason: ExitReason | None = None

    @property
    def abnormal(self) -> bool:
        """Whether the engine, not the author's contract, ended the agent."""
        return self.reason is not None


def exit_for_error(error: StepError) -> Exit:
    """Turn a failure into the exit it stands for."""
    return Exit(
        signal=error.signal,
        reason=ExitReason(
            type=error.type,
            message=shorten(redact(error.message), 500),
            detail=error.detail,
            cause=error.__cause__ or error,
        ),
    )


class IterationsExhausted(StepError):
    """The loop used up `max_iterations` without a final answer."""

    def __init__(self, iterations: int) -> None:
        super().__init__(
            f"no final answer within max_iterations: {iterations}",
            type="max_iterations",
            signal=Reserved.MAX_ITERATIONS,
            detail={"limit": "max_iterations", "value": iterations},
        )


class BudgetExceeded(StepError):
    """A budget was reached; `limit` names the field that set it."""

    def __init__(self, limit: str, *, bound: float, used: float | None = None, asked: int | None = None) -> None:
        used = dollars(used)  # or seconds, or a count, which it leaves as they are
        spent = "" if used is None else f" ({number_text(used)} used)"
        said = f"{limit}: {number_text(bound)} reached{spent}"
        if asked is not None:
            said = f"{limit}: one reply asked for {asked} calls, and {number_text(bound)} are permitted in all{spent}"
        super().__init__(
            said,
            type="budget_exceeded",
            signal=Reserved.BUDGET_EXCEEDED,
            detail={"limit": limit, "bound": bound, "used": used},
        )
