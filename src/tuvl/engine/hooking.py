"""Where hooks meet the engine: around each step, at the end of a run, and the notifications they send."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from tuvl.engine.record import RunRecord
from tuvl.engine.result import Status
from tuvl.hooks.emit import HookEmitter
from tuvl.hooks.occurrence import Occurrence
from tuvl.plan.hooks import HookEventName
from tuvl.plan.model import AgentPlan, ExecutionPlan
from tuvl.spec.signals import ERROR
from tuvl.steps.base import StepFailure, StepResult, StepScope

_CUT_OFF = StepResult(
    signal=ERROR, failure=StepFailure(type="cancelled", message="the step was cut off before it had ended")
)
"""How a step ended, for its hooks, that was cancelled from outside."""

Ended = Callable[[StepResult], StepResult]


def _unchanged(result: StepResult) -> StepResult:
    return result


_UNOBSERVED = nullcontext(_unchanged)


def observed(hooks: HookEmitter | None, scope: StepScope) -> AbstractContextManager[Ended]:
    """Fire a step's hooks around a block; the block says how the step ended by passing the result through.

    A step that fails, or is cut off, fires `after_step` too, and then `on_error`. An agent fires `on_stop` once.
    """
    return _UNOBSERVED if hooks is None or not scope.step.hooks else _observed(hooks, scope)


@contextmanager
def _observed(hooks: HookEmitter, scope: StepScope) -> Iterator[Ended]:
    step, result = scope.step, _CUT_OFF

    def ended(given: StepResult) -> StepResult:
        nonlocal result
        result = given
        return given

    hooks.fire(step.hooks, Occurrence(event="before_step", step=scope.place, kind=step.kind))
    try:
        yield ended
    finally:
        _fire_end(hooks, scope, result)


def _fire_end(hooks: HookEmitter, scope: StepScope, result: StepResult) -> None:
    step, failure = scope.step, result.failure
    events: tuple[HookEventName, ...] = ("after_step",)
    events += ("on_error",) if failure is not None else ()
    events += ("on_stop",) if isinstance(step.action, AgentPlan) else ()
    for event in events:
        hooks.fire(
            step.hooks,
            Occurrence(
                event=event,
                step=scope.place,
                kind=step.kind,
                signal=result.signal,
                error_type=failure.type if failure is not None else None,
                error_message=failure.message if failure is not None else None,
            ),
        )


async def run_stopped(hooks: HookEmitter, plan: ExecutionPlan, record: RunRecord, status: Status) -> None:
    """Fire the workflow's `on_stop`, once, whatever the end; then wait until no notification is under way."""
    error = record.error
    hooks.fire(
        plan.hooks,
        Occurrence(
            event="on_stop",
            signal=record.steps[-1].signal if record.steps else None,
            status=status,
            error_type=error.type if error is not None else None,
            error_message=error.message if error is not None else None,
        ),
    )
    await hooks.settle()
