"""What a run leaves behind while it goes: the steps that ended, the last failure, the trace, the output."""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import assert_never

from tuvl.dataclass import dataclass
from tuvl.engine.advance import Move, Stop
from tuvl.engine.context import RunContext
from tuvl.engine.result import RunError, RunResult, Status, StepRun, Taken, Usage
from tuvl.errors import EngineError
from tuvl.llm.meter import Meter
from tuvl.plan.model import AgentPlan, ExecutionPlan, StepPlan
from tuvl.steps.base import StepResult, StepScope
from tuvl.values import JsonObject, JsonValue, dig

ESTIMATED = "a model did not report its usage, so a bound on tokens or cost was held against an estimate"


@dataclass(slots=True)
class RunRecord:
    """Grows with the run. `trace` is a list from the start when it was asked for."""

    trace: list[JsonObject] | None = None
    steps: list[StepRun] = field(default_factory=list)
    error: RunError | None = None
    warnings: list[str] = field(default_factory=list)
    output: JsonValue = None
    has_output: bool = False
    taken: set[Taken] = field(default_factory=set)
    outer: "RunRecord | None" = None
    """The record of the run around this one, where the traces of both are kept, and the routes that they took."""

    def step_ended(self, step: StepPlan, result: StepResult, duration_ms: float) -> None:
        """Keep how one step ended."""
        self.steps.append(
            StepRun(
                id=step.id,
                kind=step.kind,
                signal=result.signal,
                duration_ms=duration_ms,
                iteration_count=result.iteration_count,
            )
        )
        # What a workflow inside the step took care of is no failure of the step, and still the last that went wrong.
        wrong = result.failure or result.handled
        if wrong is not None:
            self.error = RunError.of(step.id, wrong)
        if result.has_output:
            self.output, self.has_output = result.output, True
        abnormal = result.failure is not None and (isinstance(step.action, AgentPlan) or bool(result.trace))
        self._keep_trace(result.trace, always=abnormal)

    @property
    def _outermost(self) -> "RunRecord":
        record = self
        while record.outer is not None:
            record = record.outer
        return record

    def _keep_trace(self, entries: Sequence[JsonObject], *, always: bool) -> None:
        record = self._outermost
        if record.trace is None and always:
            record.trace = []
        if record.trace is not None:
            record.trace.extend(entries)

    def engine_failed(self, error: EngineError) -> None:
        """Keep why the run could not go on; the failure that led there, if any, is told as its cause."""
        detail = dict(error.detail)
        before = self.error
        if before is not None and before.step == error.step and before.type != error.type:
            detail["caused_by"] = {"type": before.type, "message": before.message}
        self.error = RunError(type=error.type, message=str(error), step=error.step, detail=detail, cause=error)

    def aborted(self, reason: str) -> None:
        """Keep why a run was aborted, when no step says so."""
        if self.error is None:
            self.error = RunError(type="aborted", message=reason, step=None)

    def took(self, plan: ExecutionPlan, step: StepPlan, signal: str) -> None:
        """Keep the route by which a run went on, or came to its end."""
        self._outermost.taken.add(Taken(plan.workflow, step.id, signal))

    def moved(self, move: Move) -> None:
        """Keep what the person should know of how the run stopped."""
        if isinstance(move, Stop):
            self.warnings.append(move.warning)

    def result(
        self,
        plan: ExecutionPlan,
        context: RunContext,
        meter: Meter,
        *,
        run_id: str,
        status: Status,
        duration_ms: float,
    ) -> RunResult:
        """Write the result document's content."""
        if meter.estimated and self.outer is None and _counts_tokens(plan):
            self.warnings.append(ESTIMATED)
        return RunResult(
            run_id=run_id,
            workflow=plan.workflow,
            schema_version=plan.schema_version,
            status=status,
            signal=self.steps[-1].signal if self.steps else None,
            output=self._output(plan, context, status),
            context=dict(context.public),
            error=self.error,
            usage=Usage.of(meter),
            steps=tuple(self.steps),
            duration_ms=duration_ms,
            trace=None if self.trace is None else tuple(self.trace),
            warnings=tuple(self.warnings),
            taken=frozenset(self.taken),
        )

    def _output(self, plan: ExecutionPlan, context: RunContext, status: Status) -> JsonValue:
        if self.has_output:
            return self.output
        match status:
            case "failed" | "aborted" | "suspended":
                return None
            case "completed":
                return self._declared_output(plan, context)
            case _:
                assert_never(status)

    def _declared_output(self, plan: ExecutionPlan, context: RunContext) -> JsonValue:
        public = dict(context.public)
        if plan.output is None:
            return public
        try:
            return dig(public, plan.output)
        except KeyError:
            name = ".".join(plan.output)
            self.warnings.append(f"`output: {name}` is not in the context at this end; the output is null")
            return None


def _counts_tokens(plan: ExecutionPlan) -> bool:
    """Whether the run, or an agent of it, is bounded in tokens or dollars."""
    agents = [step.action.limits for step in plan.steps.values() if isinstance(step.action, AgentPlan)]
    bounds = [plan.limits.max_tokens, plan.limits.max_cost_usd]
    bounds += [bound for limits in agents for bound in (limits.token_budget, limits.cost_budget_usd)]
    return any(bound is not None for bound in bounds)


def with_turns(scope: StepScope, result: StepResult) -> StepResult:
    """Return the result of an agent with its turns, which one that was cut off could not tell."""
    if result.iteration_count is not None or not isinstance(scope.step.action, AgentPlan):
        return result
    turns = (entry["iteration"] for entry in scope.trace if entry.get("step") == scope.place)
    return replace(result, iteration_count=max((turn for turn in turns if isinstance(turn, int)), default=0))
