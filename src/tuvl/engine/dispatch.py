"""The single dispatch: runs one step of any kind, on the spine or as a tool, and settles how it ended."""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import field, replace

from tuvl.control import Aborted
from tuvl.data.secure import SecureValues
from tuvl.dataclass import dataclass
from tuvl.engine.context import RunContext, normalised
from tuvl.engine.failure import cancelled_itself, failed, presentable, timed_out, unexplained
from tuvl.engine.hooking import observed
from tuvl.engine.masking import Hide, hiding, masked_signal
from tuvl.engine.spans import step_span, tell_step_end
from tuvl.engine.transaction import Transactions
from tuvl.errors import EngineError, StepError
from tuvl.hooks.emit import HookEmitter
from tuvl.plan.model import FunctionalPlan, HumanPlan, StepPlan
from tuvl.redaction import redact_json
from tuvl.spec.signals import ERROR, Reserved
from tuvl.steps.base import RunServices, StepResult, StepScope
from tuvl.steps.registry import RUNNERS
from tuvl.tools.deadline import DeadlineExceededError, GuestCancelledError, run_with_deadline
from tuvl.values import JsonObject, JsonValue, copy_json


@dataclass(slots=True)
class Dispatcher:
    """Runs the steps of one run, against its context."""

    context: RunContext
    transactions: Transactions
    hooks: HookEmitter | None = None
    secure: SecureValues = field(default_factory=SecureValues)
    """What secure fields were given in the run: no failure, signal or event of a step shows it."""

    async def run_step(self, scope: StepScope) -> StepResult:
        """Run a step of the spine and apply its delta. A failure, a timeout and an abort are results."""
        with step_span(scope) as opened, observed(self.hooks, scope) as ended:
            return tell_step_end(opened, ended(await self._abortable(scope)))

    async def _abortable(self, scope: StepScope) -> StepResult:
        try:
            with scope.services.control.abortable():
                return await self._in_time(scope)
        except Aborted as error:
            return replace(failed(scope.step.id, error), trace=tuple(scope.trace))

    async def _in_time(self, scope: StepScope) -> StepResult:
        step, timeout_s = scope.step, scope.step.timeout_s
        if isinstance(step.action, HumanPlan):
            timeout_s = None  # that of a question counts while no process has the run, too: the step sees to it
        try:
            if isinstance(step.action, FunctionalPlan):
                # Guest code may ignore its cancellation; in a task of its own it can be abandoned.
                return await run_with_deadline(self._transact(scope, self.context), timeout_s, what=f"step {step.id!r}")
            if timeout_s is None:
                return await self._transact(scope, self.context)
            # Our own runners stop when they are told to; an agent notices an abort best in the task of the run.
            # Of one that goes on in this process, some of the time is over.
            async with asyncio.timeout(max(0.0, timeout_s - scope.services.journal.lasted_s())):
                return await self._transact(scope, self.context)
        except (DeadlineExceededError, TimeoutError):
            return replace(timed_out(step.id, timeout_s or 0.0), trace=tuple(scope.trace))
        except GuestCancelledError:
            return cancelled_itself(step.id)

    async def run_tool(
        self, services: RunServices, ref: str, arguments: JsonObject, trace: list[JsonObject] | None = None
    ) -> StepResult:
        """Run a step as a tool, on the public context with its arguments laid over it.

        Nothing reaches the context of the run: the result's delta says what the step set. Its deadline and the abort
        are its caller's, so that only a cancellation leaves this as an exception.
        """
        values = {**self.context.values, **arguments, "args": arguments}
        scope = StepScope(
            step=services.plan.steps[ref],
            services=services,
            values=values,
            args=arguments,
            trace=[] if trace is None else trace,
        )
        with step_span(scope) as opened, observed(self.hooks, scope) as ended:
            return tell_step_end(opened, ended(await self._transact(scope, None)))

    def notification(
        self, services: RunServices, target: str, payload: JsonObject
    ) -> Coroutine[None, None, str | None]:
        """Return the work of running an APICall step for a hook, on the context as it is now, the payload as `args`.

        It is no step of the run: it is not counted, fires no hooks and leaves nothing behind.
        """
        values, step = self.context.values, services.plan.steps[target]

        async def send() -> str | None:
            own = {key: copy_json(value) for key, value in values.items()}
            scope = StepScope(step=step, services=services, values={**own, "args": payload}, args=payload)
            result = await self._transact(scope, None)
            return None if result.failure is None else result.failure.message

        return send()

    async def _transact(self, scope: StepScope, context: RunContext | None) -> StepResult:
        """Run a step inside its transaction; its delta is applied to `context`, when one is given."""
        step, principal = scope.step, scope.services.principal
        missing = principal.lacks(scope=step.required_scope, group=step.required_group)
        if missing is not None:
            message = f"principal {principal.id!r} may not run step {step.id!r}: it needs {missing}"
            return failed(step.id, StepError(message, type="forbidden"))
        transaction = await self.transactions.begin(step.id)
        if transaction.data is not None:
            scope = replace(scope, data=transaction.data)
        kept, hide = False, hiding(self.secure)
        try:
            returned = await _work(scope)
            _raise_if_late()
            result = settled(step, returned, hide)
            if result.signal != ERROR:
                admitted = context.admit(result.delta) if context is not None and result.delta else None
                await transaction.commit()
                kept = True
                if context is not None and admitted is not None:
                    context.apply(admitted)
            return result
        except EngineError:
            raise  # not the step's: the run is over
        except Exception as error:  # noqa: BLE001 - the one place where whatever a step raises becomes its failure
            return replace(failed(step.id, error, hide), trace=tuple(scope.trace))
        finally:
            if not kept:
                await transaction.rollback()

    def merge(self, delta: Mapping[str, JsonValue]) -> None:
        """Apply the delta of a tool with `writes_context`; raises `StepError` when it does not fit."""
        self.context.apply(self.context.admit(delta))


async def _work(scope: StepScope) -> StepResult:
    stand_in = scope.services.stand_in
    instead = None if stand_in is None else stand_in(scope)
    return await RUNNERS[type(scope.step.action)](scope) if instead is None else instead


def _raise_if_late() -> None:
    """Void the result of code that went on although it was told to stop: nobody waits for it any more."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def settled(step: StepPlan, result: StepResult, hide: Hide = redact_json) -> StepResult:
    """Return a result whose delta is JSON of its own; a step that failed sets nothing and says why."""
    failure = result.failure
    signal = masked_signal(result.signal, step.routes.__contains__, hide)
    if signal != result.signal:
        result = replace(result, signal=signal)
    if failure is None and result.signal in {ERROR, Reserved.ABORTED}:
        failure = unexplained(step.id, result.signal)
    if failure is not None:
        delta = {} if result.signal == ERROR else normalised(result.delta)
        return replace(result, delta=delta, failure=presentable(failure, hide))
    if not result.delta:
        return result
    return replace(result, delta=normalised(result.delta))
