"""ForEach steps: one step for each item of a list, so many at once, the results in the list's order."""

from dataclasses import replace
from functools import partial
from typing import cast

from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.events.types import StepFinished, StepStarted
from tuvl.plan.model import ConditionPlan, ForEachPlan, MatchPlan, StepPlan, WhenPlan
from tuvl.spec.signals import ERROR
from tuvl.steps.base import RunServices, StepFailure, StepResult, StepScope
from tuvl.steps.recorded import effect_of, is_pure, recorded, result_of, result_to_json, within
from tuvl.tools.batch import out_of_batch
from tuvl.tools.deadline import DeadlineExceededError, GuestCancelledError, run_with_deadline
from tuvl.tools.schedule import run_in_order
from tuvl.values import JsonObject, JsonValue, number_text


async def run_for_each(scope: StepScope) -> StepResult:
    """Run the body for every item; the first item that fails, in the list's order, fails the step."""
    action = scope.step.action
    if not isinstance(action, ForEachPlan):
        raise TypeError(f"step {scope.step.id!r} is no ForEach")
    items = _items(action, scope)
    scope.services.take_steps(action.step, len(items))
    loop = _Loop(scope=scope, action=action, body=scope.services.plan.steps[action.step])
    traces: list[list[JsonObject]] = [[] for _ in items]
    jobs = [partial(loop.run, index, item, traces[index]) for index, item in enumerate(items)]
    results: list[JsonValue] = []
    handled: list[StepFailure] = []

    async def accept(ended: _Item) -> None:
        results.append(ended.value)
        if ended.handled is not None:
            handled.append(ended.handled)

    try:
        await run_in_order(jobs, limit=action.concurrency, accept=accept)
    finally:
        for trace in traces:
            scope.trace.extend(trace)
    last = handled[-1] if handled else None
    return StepResult(delta={action.output_key: results}, trace=tuple(scope.trace), handled=last)


def _items(action: ForEachPlan, scope: StepScope) -> list[JsonValue]:
    items = action.items.render(scope.values)
    if not isinstance(items, list):
        raise StepError("`items` did not give a list", type="bad_value")
    if len(items) > action.max_items:
        raise StepError(
            f"`items` has {len(items)} entries; max_items is {action.max_items}, and none was run",
            type="too_many_items",
            detail={"limit": "max_items", "bound": action.max_items, "items": len(items)},
        )
    return items


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """What one item gave, and the last failure that a workflow inside it took care of."""

    value: JsonValue
    handled: StepFailure | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loop:
    """The items of one execution."""

    scope: StepScope
    action: ForEachPlan
    body: StepPlan

    async def run(self, index: int, item: JsonValue, trace: list[JsonObject]) -> _Item:
        """Run the body for one item; raises `StepError` that names the item."""
        services = self.scope.services
        written: dict[str, JsonValue] = {}
        # What an agent's tools write belongs to the item: the items of a list must not meet in the context.
        inside = replace(services, path=f"{self.scope.place}[{index}]/", merge=written.update)
        inside = within(inside, f"[{index}]")
        # Inside another ForEach, the outer item stays in sight.
        arguments = {**(self.scope.args or {}), self.action.name: item}
        place, signal, started = inside.path + self.body.id, ERROR, services.clock.monotonic()
        services.emit(place, StepStarted(kind=self.body.kind))
        try:
            result = await self._recorded(index, arguments, inside, trace, written)
            signal = result.signal
        finally:
            duration_ms = (services.clock.monotonic() - started) * 1000
            services.emit(place, StepFinished(kind=self.body.kind, signal=signal, duration_ms=duration_ms))
        failure = result.failure
        if failure is not None:
            raise self._failed(index, failure.type, failure.message, failure.detail) from failure.cause
        value = _value(self.body, replace(result, delta={**written, **result.delta}))
        return _Item(value=value, handled=result.handled and self._told(index, result.handled))

    async def _recorded(
        self,
        index: int,
        arguments: JsonObject,
        services: RunServices,
        trace: list[JsonObject],
        written: dict[str, JsonValue],
    ) -> StepResult:
        """Run the body, or take up how it ended for this item."""
        if not services.journal.keeps or is_pure(self.body):
            return await self._run_in_time(index, arguments, services, trace)

        async def work(inside: RunServices) -> JsonObject:
            result = await self._run_in_time(index, arguments, inside, trace)
            return {"result": result_to_json(result), "written": dict(written), "trace": list[JsonValue](trace)}

        values = {**self.scope.values, **arguments, "args": arguments}
        effect = effect_of(self.body, services.path + self.body.id, services, values)
        kept = await recorded("end", services, work, effect=effect, settle=_settled)
        written.update(cast(JsonObject, kept["written"]))
        trace[:] = cast(list[JsonObject], kept["trace"])
        return result_of(cast(JsonObject, kept["result"]))

    async def _run_in_time(
        self, index: int, arguments: JsonObject, services: RunServices, trace: list[JsonObject]
    ) -> StepResult:
        timeout_s = self.body.timeout_s
        with out_of_batch():
            try:
                # A task of its own, whatever its time: guest code that ignores a cancellation can then be left behind.
                work = services.dispatch(self.body.id, arguments, services=services, trace=trace)
                return await run_with_deadline(work, timeout_s, what=f"item {index} of {self.scope.step.id!r}")
            except DeadlineExceededError:
                within = f"did not finish within {number_text(timeout_s or 0)} s"
                raise self._failed(index, "timeout", within, {}) from None
            except GuestCancelledError:
                raise self._failed(index, "cancelled", "cancelled itself", {}) from None

    def _told(self, index: int, handled: StepFailure) -> StepFailure:
        message = f"item {index} of {self.scope.step.id!r}: {handled.message}"
        return replace(handled, message=message, detail={**handled.detail, "item": index})

    def _failed(self, index: int, type: str, what: str, detail: JsonObject) -> StepError:
        return StepError(
            f"item {index} of {self.scope.step.id!r}: {what}",
            type=type,
            detail={**detail, "item": index, "step": self.body.id},
        )


def _value(body: StepPlan, result: StepResult) -> JsonValue:
    """Return what an item gave: the output of a Response, the signal of a Router, else the keys that the body set."""
    if result.has_output:
        return result.output
    if isinstance(body.action, ConditionPlan | MatchPlan | WhenPlan):
        return cast(JsonValue, {"signal": result.signal})
    return dict(result.delta)


def _settled(result: StepResult) -> JsonObject:
    return {"result": result_to_json(result), "written": {}, "trace": []}
