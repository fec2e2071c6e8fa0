"""One run: step after step until a route ends it, inside its limits; every end gives the same result document."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import field, replace

from tuvl.agent.limits import Budget
from tuvl.agent.transcript import intervention_entry
from tuvl.clock import Clock, SystemClock
from tuvl.control import Intervention, RunControl
from tuvl.data.run_records import RunRecords
from tuvl.data.secure import SecureValues
from tuvl.dataclass import dataclass
from tuvl.engine.admission import check_start, initial_context
from tuvl.engine.advance import Finish, Goto, Move, Stop, advance
from tuvl.engine.context import RunContext
from tuvl.engine.dispatch import Dispatcher
from tuvl.engine.hooking import run_stopped
from tuvl.engine.journal import SpineJournal
from tuvl.engine.masking import StreamMask
from tuvl.engine.nested import nested_context, nested_result
from tuvl.engine.record import RunRecord, with_turns
from tuvl.engine.result import RunResult, Status
from tuvl.engine.spans import run_span, tell_run_end
from tuvl.engine.step_count import StepCount
from tuvl.engine.transaction import NoTransactions, Transactions
from tuvl.errors import EngineError
from tuvl.events.types import (
    Event,
    EventBody,
    Intervened,
    RunFinished,
    RunStarted,
    RunSuspended,
    StepFinished,
    StepStarted,
)
from tuvl.hooks.emit import HookEmitter
from tuvl.http.client import HttpClient
from tuvl.journal import NO_JOURNAL, Journal, Left, Suspended
from tuvl.llm.messages import ChatModel
from tuvl.llm.meter import Meter
from tuvl.mcp.pool import McpPool
from tuvl.metrics import Counters
from tuvl.plan.model import ExecutionPlan, ModelPlan, StepPlan
from tuvl.principal import Principal
from tuvl.settings import Settings
from tuvl.spec.signals import ERROR, Reserved
from tuvl.steps.base import Oversight, RunServices, StandIn, StepFailure, StepResult, StepScope
from tuvl.steps.recorded import spend_ahead
from tuvl.tools.approval import Approvals, StandingAnswer
from tuvl.tracing import current_ids
from tuvl.values import JsonObject, number_text

CLEANUP_S = 30.0
"""How long the steps routed from `aborted` may take after an abort, in seconds, all of them together."""


def _unwatched(plan: ExecutionPlan, journal: Journal) -> Oversight | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPorts:
    """What a run needs of the world."""

    settings: Settings
    environ: Mapping[str, str]
    http: HttpClient
    mcp: McpPool
    model_for: Callable[[ModelPlan], ChatModel]
    clock: Clock = field(default_factory=SystemClock)
    control: RunControl = field(default_factory=RunControl)
    principal: Principal = field(default_factory=Principal)
    accept: Callable[[Event], None] | None = None
    """Takes each event; `None` when nobody listens."""
    journal: Journal = NO_JOURNAL
    transactions: Transactions = field(default_factory=NoTransactions)
    secure: SecureValues = field(default_factory=SecureValues)
    """What secure fields were given in the run; whoever opens the transactions fills it."""
    records: RunRecords | None = None
    approvals: Approvals = field(default_factory=StandingAnswer)
    counters: Counters = field(default_factory=Counters)
    """What hooks count; kept by the runtime, over its runs."""
    stand_in: StandIn | None = None
    """Stands in for the work of steps; `None` outside of tests."""
    oversight_of: Callable[[ExecutionPlan, Journal], Oversight | None] = _unwatched
    """Gives what watches a run of a plan, those inside it included."""


async def run_plan(
    plan: ExecutionPlan,
    input: JsonObject,
    ports: RunPorts,
    *,
    run_id: str,
    timeout_s: float | None = None,
    elapsed_s: float = 0.0,
    trace: bool = False,
) -> RunResult:
    """Run a plan once.

    `timeout_s` tightens the plan's own limit; `elapsed_s` is what the run has taken of it in other processes. Raises
    `ConfigError`, `UsageError` or `InputError` when the run cannot begin, and nothing has happened then; every later
    fault is in the result. A cancellation passes through.
    """
    check_start(plan, ports.principal)
    context = initial_context(plan, input)
    bound = min((each for each in (timeout_s, plan.limits.timeout_s) if each is not None), default=None)
    return await _Run(plan, context, ports, run_id, trace=trace, elapsed_s=elapsed_s).execute(bound)


@dataclass(slots=True)
class _InFlight:
    """The step that is running."""

    scope: StepScope
    started: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """What a run inside a step has of the run around it."""

    scope: StepScope
    record: RunRecord


class _Run:
    """The state of one run, or of one inside a step of another: that one spends from both."""

    def __init__(
        self,
        plan: ExecutionPlan,
        context: RunContext,
        ports: RunPorts,
        run_id: str,
        *,
        trace: bool = False,
        around: _Around | None = None,
        elapsed_s: float = 0.0,
    ) -> None:
        self._around = around
        self._elapsed_s = elapsed_s
        self._plan = plan
        self._context = context
        self._ports = ports
        self._run_id = run_id
        self._clock = ports.clock
        self._meter = Meter(parent=around.scope.services.meter if around else None)
        self._record = RunRecord(trace=[] if trace else None, outer=around.record if around else None)
        self._spine = SpineJournal(ports.journal, context)
        self._steps = StepCount(plan.limits.max_steps, around.scope.services.take_steps if around else None)
        self._hooks = self._make_hooks()
        self._dispatcher = Dispatcher(context, ports.transactions, self._hooks, ports.secure)
        self._in_flight: _InFlight | None = None
        self._stream_mask = StreamMask(ports.secure)
        self._seq = 0
        self._services = self._make_services()

    def _make_hooks(self) -> HookEmitter | None:
        plan = self._plan
        if not plan.hooks and not any(step.hooks for step in plan.steps.values()):
            return None
        return HookEmitter(
            run_id=self._run_id,
            workflow=plan.workflow,
            notify=lambda target, payload: self._dispatcher.notification(self._services, target, payload),
            counters=self._ports.counters,
        )

    def _make_services(self) -> RunServices:
        ports, around = self._ports, self._around
        outer = around.scope.services if around else None
        return RunServices(
            run_id=self._run_id,
            plan=self._plan,
            settings=ports.settings,
            clock=ports.clock,
            control=ports.control,
            principal=ports.principal,
            meter=self._meter,
            emit=outer.emit if outer else self._emit,
            model_for=ports.model_for,
            merge=self._dispatcher.merge,
            dispatch=self._dispatch_tool,
            http=ports.http,
            mcp=ports.mcp,
            environ=ports.environ,
            records=ports.records,
            approvals=ports.approvals,
            journal=ports.journal,
            sub_run=self._run_inside,
            take_steps=self._steps.take,
            budgets=(Budget.of_run(self._plan.limits, self._meter, ports.journal), *(outer.budgets if outer else ())),
            current_values=lambda: self._context.values,
            path=f"{around.scope.place}/" if around else "",
            hooks=self._hooks,
            oversight=ports.oversight_of(self._plan, ports.journal),
            stand_in=ports.stand_in,
            can_mark=ports.transactions.can_mark,
        )

    async def _dispatch_tool(
        self,
        ref: str,
        arguments: JsonObject,
        *,
        services: RunServices | None = None,
        trace: list[JsonObject] | None = None,
    ) -> StepResult:
        return await self._dispatcher.run_tool(services or self._services, ref, arguments, trace)

    async def _run_inside(self, scope: StepScope, plan: ExecutionPlan, input: JsonObject) -> StepResult:
        """Run another workflow inside a step of this one."""
        context = nested_context(plan, input, self._ports.principal)
        # The control is that of the step: the cleanup after an abort has one of its own.
        inner = scope.services
        ports = replace(self._ports, control=inner.control, journal=inner.journal, approvals=inner.approvals)
        around = _Around(scope=scope, record=self._record)
        child = _Run(plan, context, ports, self._run_id, around=around, elapsed_s=inner.journal.lasted_s())
        before = self._steps.refused
        result = await child.execute(plan.limits.timeout_s)
        refused = self._steps.refused
        if refused is not None and refused is not before and scope.args is None:
            # The run is out of steps, whatever its routes make of a failure; an agent and a list are told of one.
            raise EngineError(str(refused), type=refused.type, step=scope.step.id, detail=refused.detail) from refused
        return nested_result(result)

    async def execute(self, timeout_s: float | None) -> RunResult:
        """Run to the end; exactly one terminal event, whatever happens."""
        with run_span(self._plan, self._run_id) as opened:
            return tell_run_end(opened, await self._execute(timeout_s))

    async def _execute(self, timeout_s: float | None) -> RunResult:
        started = self._clock.monotonic()
        if self._around is None:
            self._ports.control.listener = self._intervened
        if self._listened and self._around is None:
            self._emit(None, RunStarted(workflow=self._plan.workflow, schema_version=self._plan.schema_version))
        status: Status = "failed"
        try:
            status = await self._to_the_end(timeout_s)
        except asyncio.CancelledError:
            status = "aborted"
            raise
        finally:
            if self._around is None:
                self._ports.control.listener = None
            duration_ms = self._elapsed_ms(started)
            if self._in_flight is not None:  # cancelled from outside, or the journal failed
                self._close_in_flight(self._cut_off(ERROR if status == "failed" else Reserved.ABORTED))
            if self._hooks is not None and status != "suspended":
                await run_stopped(self._hooks, self._plan, self._record, status)
            if self._listened and self._around is None:
                steps = self._record.steps
                signal = steps[-1].signal if steps else None
                self._emit(None, RunFinished(status=status, signal=signal, duration_ms=duration_ms))
        if self._around is None:
            spend_ahead(self._meter, self._ports.journal)
        return self._record.result(
            self._plan, self._context, self._meter, run_id=self._run_id, status=status, duration_ms=duration_ms
        )

    @property
    def _listened(self) -> bool:
        return self._ports.accept is not None

    def _cut_off(self, signal: str) -> StepResult:
        """Return how the step in flight ended that never came to its end."""
        if self._around is None or self._in_flight is None:
            return StepResult(signal=signal)
        # The run around this one goes on, and its result still has to tell what an agent in here did.
        failure = StepFailure(type="cancelled", message=f"cut off with step {self._around.scope.place!r}")
        return StepResult(signal=signal, failure=failure, trace=tuple(self._in_flight.scope.trace))

    async def _to_the_end(self, timeout_s: float | None) -> Status:
        control = self._ports.control
        move: Move = Finish()
        try:
            entry = self._plan.steps[self._plan.entry]
            move = await self._walk_within(timeout_s, "the run", entry, self._services, self._steps)
            if isinstance(move, Goto):
                # The abort was routed. What cleans up has a control and a bound of its own; a second abort stops it.
                steps = StepCount(self._plan.limits.max_steps)
                cleanup = replace(self._services, control=control.for_cleanup(), take_steps=steps.take)
                self._elapsed_s = 0.0
                move = await self._walk_within(CLEANUP_S, "the cleanup after the abort", move.step, cleanup, steps)
        except Suspended as waiting:
            # Nothing has ended, neither the step nor what is around it: all of it goes on from the record.
            flight, self._in_flight = self._in_flight, None
            if self._around is not None:
                raise
            if flight is not None and not isinstance(waiting, Left):
                self._emit(flight.scope.place, RunSuspended())
            self._record.engine_failed(waiting)
            return "suspended"
        except EngineError as error:
            self._record.engine_failed(error)
            return "aborted" if control.aborted else "failed"
        self._record.moved(move)
        if control.aborted:
            self._record.aborted(control.abort_reason or "aborted")
            return "aborted"
        return move.status if isinstance(move, Stop) else "completed"

    async def _walk_within(
        self, timeout_s: float | None, what: str, step: StepPlan, services: RunServices, steps: StepCount
    ) -> Move:
        if timeout_s is None:
            return await self._walk(step, services, steps)
        try:
            async with asyncio.timeout(max(0.0, timeout_s - self._elapsed_s)) as deadline:
                return await self._walk(step, services, steps)
        except TimeoutError:
            if not deadline.expired():
                raise
        message = f"{what} did not finish within {number_text(timeout_s)} s"
        step_id = None
        if self._in_flight is not None:
            scope = self._in_flight.scope
            step_id = scope.step.id
            failure = StepFailure(type="timeout", message=message, detail={"timeout_s": timeout_s})
            self._close_in_flight(StepResult(signal=ERROR, failure=failure, trace=tuple(scope.trace)))
        raise EngineError(message, type="timeout", step=step_id, detail={"timeout_s": timeout_s})

    async def _walk(self, step: StepPlan, services: RunServices, steps: StepCount) -> Move:
        """Take step after step; returns `Goto` only for an abort that is routed."""
        while True:
            steps.take(step.id)
            await services.control.park()
            result = await self._run_step(step, services)
            move = advance(self._plan, step, result.signal)
            self._record.took(self._plan, step, result.signal)
            if not isinstance(move, Goto):
                return move
            if services.control.aborted and result.signal == Reserved.ABORTED:
                return move
            step = move.step

    async def _run_step(self, step: StepPlan, services: RunServices) -> StepResult:
        services = self._spine.visit(step, services)
        scope = StepScope(step=step, services=services, values=self._context.values)
        if self._listened:
            services.emit(scope.place, StepStarted(kind=step.kind))
        self._in_flight = _InFlight(scope, self._clock.monotonic())
        result = await self._spine.run(scope, self._dispatcher.run_step)
        self._close_in_flight(result)
        return result

    def _close_in_flight(self, result: StepResult) -> None:
        flight, self._in_flight = self._in_flight, None
        if flight is None:
            return
        step, duration_ms = flight.scope.step, self._elapsed_ms(flight.started)
        self._context.set_engine_keys(result.engine_keys)
        if result.failure is not None:
            self._context.set_failure(step.id, result.failure)
        self._record.step_ended(step, with_turns(flight.scope, result), duration_ms)
        if self._listened:
            ended = StepFinished(kind=step.kind, signal=result.signal, duration_ms=duration_ms)
            flight.scope.services.emit(flight.scope.place, ended)

    def _intervened(self, said: Intervention) -> None:
        """Tell of an intervention; what a person did also goes into the trace of the step that runs just now."""
        flight = self._in_flight
        place = said.step_id or (flight.scope.place if flight is not None else None)
        if flight is not None and said.source == "operator":
            trace = flight.scope.trace
            turn = trace[-1]["iteration"] if trace else 0
            entry: JsonObject = {"step": flight.scope.place, "type": "intervention", "iteration": turn}
            trace.append(entry | intervention_entry(said, ""))
        self._emit(
            place,
            Intervened(
                action=said.action,
                source=said.source,
                by=said.by,
                reason=said.reason,
                iteration=said.iteration,
            ),
        )

    def _emit(self, step_id: str | None, body: EventBody) -> None:
        if self._ports.accept is None:
            return
        for shown in self._stream_mask.shown(step_id, body):
            self._seq += 1
            self._ports.accept(
                Event(
                    run_id=self._run_id,
                    seq=self._seq,
                    at=self._clock.now(),
                    step_id=step_id,
                    body=shown,
                    span=current_ids(),
                )
            )

    def _elapsed_ms(self, started: float) -> float:
        return (self._clock.monotonic() - started) * 1000
