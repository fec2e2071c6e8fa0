"""The result document of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal, NamedTuple, TypeAlias

from tuvl.dataclass import dataclass
from tuvl.llm.meter import Meter
from tuvl.steps.base import StepFailure
from tuvl.values import JsonObject, JsonValue, dollars

Status: TypeAlias = Literal["completed", "failed", "aborted", "suspended"]

EXIT_CODES: Mapping[Status, int] = {"completed": 0, "failed": 1, "suspended": 3, "aborted": 4}
"""What the command line exits with."""


class Taken(NamedTuple):
    """A route that a run has taken: from a step of a workflow on, by a signal."""

    workflow: str
    step: str
    signal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """One execution of one step of the spine."""

    id: str
    kind: str
    signal: str
    duration_ms: float
    iteration_count: int | None = None

    def to_json(self) -> JsonObject:
        """Return the entry of `steps`; `iteration_count` is there for agents only."""
        entry: JsonObject = {"id": self.id, "kind": self.kind, "signal": self.signal}
        if self.iteration_count is not None:
            entry["iteration_count"] = self.iteration_count
        entry["duration_ms"] = round(self.duration_ms, 3)
        return entry


@dataclass(frozen=True, slots=True, kw_only=True)
class RunError:
    """The last abnormal signal of a run, routed or not; `step` is `None` when no step is to blame."""

    type: str
    message: str
    step: str | None
    detail: JsonObject = field(default_factory=dict)
    cause: BaseException | None = None
    """The original exception, for people who call tuvl from Python; it is in no document."""

    @classmethod
    def of(cls, step: str, failure: StepFailure) -> "RunError":
        """Make the error of a step's failure."""
        return cls(type=failure.type, message=failure.message, step=step, detail=failure.detail, cause=failure.cause)

    def to_json(self) -> JsonObject:
        """Return `{type, message, step, detail}`."""
        return {"type": self.type, "message": self.message, "step": self.step, "detail": self.detail}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a run used. `cost_usd` is `None` when unknown, never 0 for that."""

    llm_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cost_usd: float | None = None
    estimated: bool = False

    @classmethod
    def of(cls, meter: Meter) -> "Usage":
        """Read a run's meter."""
        return cls(
            llm_calls=meter.llm_calls,
            tool_calls=meter.tool_calls,
            input_tokens=meter.input_tokens,
            output_tokens=meter.output_tokens,
            total_tokens=meter.total_tokens,
            cost_usd=meter.cost_usd,
            estimated=meter.estimated,
        )

    def to_json(self) -> JsonObject:
        """Return the `usage` object."""
        return {
            "llm_calls": self.llm_calls,
            "tool_calls": self.tool_calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "total_tokens": self.total_tokens,
            "cost_usd": dollars(self.cost_usd),
            "estimated": self.estimated,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a run ended; the same document for every end. `signal` is that of the last step run."""

    run_id: str
    workflow: str
    schema_version: str
    status: Status
    signal: str | None
    output: JsonValue
    context: JsonObject
    error: RunError | None
    usage: Usage
    steps: Sequence[StepRun]
    duration_ms: float
    trace: Sequence[JsonObject] | None = None
    """Turns, calls and results of agents; `None` when nobody asked and no agent ended abnormally."""
    warnings: tuple[str, ...] = ()
    """For the person who ran it; not in the document."""
    taken: frozenset[Taken] = frozenset()
    """The routes that it took, those in workflows that ran inside it with them; not in the document."""
    recording_lost: str | None = None
    """Why a recording that was asked for could not be written, if so; it is one of the warnings, too."""

    @classmethod
    def unperformed(
        cls, run_id: str, workflow: str, schema_version: str, *, type: str, message: str, duration_ms: float = 0.0
    ) -> "RunResult":
        """Return the end of a run that failed outside of its steps, of which nothing else is known."""
        return cls(
            run_id=run_id,
            workflow=workflow,
            schema_version=schema_version,
            status="failed",
            signal=None,
            output=None,
            context={},
            error=RunError(type=type, message=message, step=None),
            usage=Usage(),
            steps=(),
            duration_ms=duration_ms,
        )

    @property
    def exit_code(self) -> int:
        """What the command line exits with."""
        return EXIT_CODES[self.status]

    def to_json(self) -> JsonObject:
        """Return the result document."""
        document: JsonObject = {
            "run_id": self.run_id,
            "workflow": self.workflow,
            "schema_version": self.schema_version,
            "status": self.status,
            "signal": self.signal,
            "output": self.output,
            "context": self.context,
            "error": None if self.error is None else self.error.to_json(),
            "usage": self.usage.to_json(),
            "steps": [step.to_json() for step in self.steps],
            "duration_ms": round(self.duration_ms, 3),
        }
        if self.trace is not None:
            document["trace"] = list(self.trace)
        return document
