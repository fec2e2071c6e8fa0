"""Pieces of work inside a run as entries of its durable record, with what they spent, counted again when taken up."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import cast

from tuvl.journal import WHOLE, Effect, Journal, Settlement
from tuvl.llm.meter import Meter, metered
from tuvl.llm.spent import NOTHING, spend, spent_on
from tuvl.plan.model import (
    ApiCallPlan,
    ConditionPlan,
    FailPlan,
    FunctionalPlan,
    LogPlan,
    MatchPlan,
    McpPlan,
    ModelOpPlan,
    ResponsePlan,
    SetPlan,
    StepPlan,
    WhenPlan,
)
from tuvl.spec.signals import ERROR
from tuvl.steps.base import RunServices, StepFailure, StepResult
from tuvl.steps.requested import request_of, told_of
from tuvl.tools.approval import RecordedApprovals
from tuvl.values import JsonObject, JsonValue

_PURE = (ConditionPlan, MatchPlan, WhenPlan, ResponsePlan, SetPlan, FailPlan, LogPlan)
"""What such a step does follows from the context alone: it is done again rather than recorded."""

_LEAVES = (ApiCallPlan, FunctionalPlan, McpPlan, ModelOpPlan)
"""Work that is done by the step itself; what other steps do, their parts record."""


def is_pure(step: StepPlan) -> bool:
    """Tell whether a step is simply done again when its run goes on."""
    return isinstance(step.action, _PURE)


def effect_of(
    step: StepPlan,
    place: str,
    services: RunServices,
    values: Mapping[str, JsonValue],
    arguments: JsonObject | None = None,
) -> Effect | None:
    """Return what a step does outside of the run; one that leaves its work to others, or only reads, writes nothing.

    `values` are what its templates see, `arguments` those of a model that calls it. `None` in runs without a record,
    which have no use for it.
    """
    if not services.journal.keeps:
        return None
    if not isinstance(step.action, _LEAVES):
        return Effect(step=place, kind=step.kind, repeatable=False, writes=False)
    request = request_of(step, values)
    if step.effects == "read":
        return Effect(step=place, kind=step.kind, repeatable=False, writes=False, alone=True, request=request)
    proves = _proof(step, services)
    return Effect(
        step=place,
        kind=step.kind,
        repeatable=step.keyed,
        proves=proves,
        alone=True,
        request=request,
        told=lambda: told_of(step, values, arguments),
    )


def _proof(step: StepPlan, services: RunServices) -> Callable[[], Awaitable[bool]] | None:
    """Return what tells whether a step leaves a mark of its write: an operation on records does, where it can."""
    action, can_mark = step.action, services.can_mark
    if can_mark is None or not isinstance(action, ModelOpPlan) or step.keyed or services.stand_in is not None:
        return None
    return lambda: can_mark(action.model.source)


async def recorded(
    name: str,
    services: RunServices,
    work: Callable[[RunServices], Awaitable[JsonObject]],
    *,
    settle: Callable[[StepResult], JsonObject],
    effect: Effect | None = None,
    asked: str | None = None,
) -> JsonObject:
    """Do a piece of work, or take up its outcome; `work` gets the services that count what it does.

    `settle` writes the outcome of a step of which a person says how it ended.
    """
    taken, done = _Taken(services), False

    def settled(settlement: Settlement) -> JsonValue:
        return {"outcome": settle(_as_settled(settlement)), "spent": NOTHING, "taken": {}}

    async def working() -> JsonValue:
        nonlocal done
        with metered() as used:
            outcome = await work(replace(services, take_steps=taken.take))
            if name == WHOLE:
                spend_ahead(services.meter, services.journal)
        done = True
        return {"outcome": outcome, "spent": spent_on(used), "taken": taken.steps}

    if effect is not None:
        effect = replace(effect, settle=settled)
    kept = cast(JsonObject, await services.journal.record(name, working, effect=effect, asked=asked))
    if not done:
        spend(services.meter, cast(JsonObject, kept["spent"]))
        for step, times in cast(dict[str, int], kept["taken"]).items():
            services.take_steps(step, times)
    return cast(JsonObject, kept["outcome"])


def spend_ahead(meter: Meter, journal: Journal) -> None:
    """Count what a part of the record has spent and was not come to again: one lane that ended it was faster."""
    for spent in journal.ahead():
        spend(meter, spent)


async def recorded_result(
    name: str,
    services: RunServices,
    work: Callable[[RunServices], Awaitable[StepResult]],
    *,
    effect: Effect | None = None,
) -> StepResult:
    """Run a step, or take up how it ended; what the record does not keep of a failure, nobody sees."""
    if not services.journal.keeps:
        return await work(services)

    async def working(counting: RunServices) -> JsonObject:
        return result_to_json(await work(counting))

    return result_of(await recorded(name, services, working, effect=effect, settle=result_to_json))


def _as_settled(settlement: Settlement) -> StepResult:
    if settlement.done:
        return StepResult(delta=settlement.answer)
    message = f"the process that ran it was lost, and {settlement.by} says that it did not take place"
    return StepResult(signal=ERROR, failure=StepFailure(type="not_done", message=message))


def within(services: RunServices, name: str) -> RunServices:
    """Return the services of a part of the work, with its own part of the record."""
    if not services.journal.keeps:
        return services
    part, approvals = services.journal.within(name), services.approvals
    inner = approvals.inner if isinstance(approvals, RecordedApprovals) else approvals
    return replace(services, journal=part, approvals=RecordedApprovals(inner=inner, journal=part))


class _Taken:
    """The steps that a piece of work has taken."""

    def __init__(self, services: RunServices) -> None:
        self._services = services
        self.steps: dict[str, JsonValue] = {}

    def take(self, step_id: str, times: int = 1) -> None:
        self._services.take_steps(step_id, times)
        self.steps[step_id] = cast(int, self.steps.get(step_id, 0)) + times


def result_to_json(result: StepResult) -> JsonObject:
    """Write how a step ended."""
    return {
        "signal": result.signal,
        "delta": dict(result.delta),
        "engine_keys": dict(result.engine_keys),
        "failure": failure_to_json(result.failure),
        "output": result.output,
        "has_output": result.has_output,
        "trace": list[JsonValue](result.trace),
        "iteration_count": result.iteration_count,
        "handled": failure_to_json(result.handled),
    }


def result_of(kept: JsonObject) -> StepResult:
    """Read how a step ended."""
    return StepResult(
        signal=str(kept["signal"]),
        delta=cast(JsonObject, kept["delta"]),
        engine_keys=cast(JsonObject, kept["engine_keys"]),
        failure=failure_of(kept["failure"]),
        output=kept["output"],
        has_output=bool(kept["has_output"]),
        trace=tuple(cast(list[JsonObject], kept["trace"])),
        iteration_count=cast(int | None, kept["iteration_count"]),
        handled=failure_of(kept["handled"]),
    )


def failure_to_json(failure: StepFailure | None) -> JsonValue:
    """Write why a step failed; the exception behind it is not kept."""
    if failure is None:
        return None
    return {"type": failure.type, "message": failure.message, "detail": failure.detail}


def failure_of(kept: JsonValue) -> StepFailure | None:
    """Read why a step failed."""
    if not isinstance(kept, dict):
        return None
    return StepFailure(type=str(kept["type"]), message=str(kept["message"]), detail=cast(JsonObject, kept["detail"]))
