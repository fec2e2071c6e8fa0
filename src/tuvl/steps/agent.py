"""Agent steps: hands the engine's dispatch, control and meter to the agent, and the agent's exit back."""

from collections.abc import Callable
from dataclasses import replace

from tuvl.agent.asking import Asker, Sampling
from tuvl.agent.completion import CompletionRunner
from tuvl.agent.exits import Exit
from tuvl.agent.limits import Bounds
from tuvl.agent.loop import AgentStepRunner
from tuvl.agent.outcome import OutcomeContract
from tuvl.agent.prompt import autonomous_opening, untrusted
from tuvl.agent.transcript import Transcript
from tuvl.errors import StepError
from tuvl.events.types import EventBody
from tuvl.llm.meter import Meter
from tuvl.plan.model import AgentPlan
from tuvl.steps.agent_gates import gates_of, masks_of, tool_hooks_of
from tuvl.steps.agent_parts import AgentParts
from tuvl.steps.agent_records import ledger_of
from tuvl.steps.base import FATAL_TYPES, RunServices, StepFailure, StepResult, StepScope
from tuvl.tools.tool import ToolDispatch, ToolFailure, ToolOutcome
from tuvl.tools.toolbox import Toolbox
from tuvl.values import JsonObject


async def run_agent(scope: StepScope) -> StepResult:
    """Run an Agent step of either mode."""
    agent = scope.step.action
    if not isinstance(agent, AgentPlan):
        raise TypeError(f"step {scope.step.id!r} has no agent plan")
    transcript = Transcript(scope.place, scope.trace, masks=masks_of(agent))
    if agent.mode == "completion":
        turns, ended = await _complete(agent, scope, transcript)
    else:
        turns, ended = await _loop(agent, scope, transcript)
    return StepResult(
        signal=ended.signal,
        delta=ended.writes,
        failure=_failure(ended),
        trace=tuple(transcript.entries),
        iteration_count=turns,
    )


async def _loop(agent: AgentPlan, scope: StepScope, transcript: Transcript) -> tuple[int, Exit]:
    services, emit = scope.services, _emitter(scope)
    bounds = _bounds(agent, services)
    gates = gates_of(agent, scope, bounds)
    parts = AgentParts(agent=agent, scope=scope, bounds=bounds, emit=emit, turn=lambda: runner.turn)
    toolbox = Toolbox(
        agent.tools,
        dispatch=_tool_dispatch(scope, bounds),
        merge=services.merge,
        policy=parts.tool_policy(),
        gate=gates,
        control=services.control,
        clock=services.clock,
        emit=emit,
        clearance=parts.clearance(),
        hooks=tool_hooks_of(scope),
    )
    ledger = ledger_of(agent, scope, transcript)
    model, stream = parts.model(), parts.stream(ledger)
    preparation = parts.preparation(transcript, model)
    asker = Asker(
        model=stream.around(model) if stream else model,
        toolbox=toolbox,
        offer=parts.offer(preparation),
        bounds=bounds,
        control=services.control,
        ledger=ledger,
        clock=services.clock,
        sampling=Sampling(
            max_output_tokens=agent.max_output_tokens,
            temperature=agent.temperature,
            interruptible=agent.steer_mode == "interrupt",
        ),
    )
    runner = AgentStepRunner(
        asker=asker,
        toolbox=toolbox,
        bounds=bounds,
        closing=parts.closing(gates),
        gates=gates,
        control=services.control,
        ledger=ledger,
        emit=stream.events() if stream else emit,
        preparation=preparation,
    )
    system, user = autonomous_opening(agent, scope.values, scope.public)
    ended = await runner.run(system, user)
    return runner.turn, ended


async def _complete(agent: AgentPlan, scope: StepScope, transcript: Transcript) -> tuple[int, Exit]:
    services, emit = scope.services, _emitter(scope)
    bounds = _bounds(agent, services)
    parts = AgentParts(agent=agent, scope=scope, bounds=bounds, emit=emit, turn=lambda: runner.turn)
    runner = CompletionRunner(
        agent=agent,
        model=parts.model(),
        bounds=bounds,
        contract=OutcomeContract(plan=agent.outcome),
        gates=gates_of(agent, scope, bounds),
        control=services.control,
        transcript=transcript,
        clock=services.clock,
    )
    system = agent.system.render_text(scope.values) if agent.system is not None else None
    user = agent.prompt.render_text(scope.values) if agent.prompt is not None else ""
    public = scope.public
    parts_of_text = [user, *(untrusted(key, public[key]) for key in agent.context_injection if key in public)]
    ended = await runner.run(system, "\n\n".join(part for part in parts_of_text if part))
    return runner.turn, ended


def _bounds(agent: AgentPlan, services: RunServices) -> Bounds:
    return Bounds(
        agent.limits,
        services.plan.limits,
        meter=Meter(parent=services.meter),
        run_meter=services.meter,
        clock=services.clock,
        outer=services.budgets[1:],
    )


def _tool_dispatch(scope: StepScope, bounds: Bounds) -> ToolDispatch:
    # What a tool spends, a workflow for one, comes out of the budget of the agent that called it.
    services = replace(scope.services, meter=bounds.meter, budgets=bounds.budgets)
    # Inside a ForEach the item stays in sight of the tools.
    around = scope.args or {}

    async def dispatch(ref: str, arguments: JsonObject) -> ToolOutcome:
        given = {**around, **arguments} if around else arguments
        result = await services.dispatch(ref, given, services=services)
        if result.failure is not None:
            failure = result.failure
            if failure.type in FATAL_TYPES:
                raise StepError(
                    f"tool {ref!r}: {failure.message}", type=failure.type, detail=failure.detail
                ) from failure.cause
            return ToolOutcome(
                signal=result.signal,
                failure=ToolFailure(
                    type=failure.type, message=failure.message, detail=failure.detail, cause=failure.cause
                ),
            )
        return ToolOutcome(signal=result.signal, delta=result.delta)

    return dispatch


def _emitter(scope: StepScope) -> Callable[[EventBody], None]:
    emit, place = scope.services.emit, scope.place
    return lambda body: emit(place, body)


def _failure(ended: Exit) -> StepFailure | None:
    if ended.reason is None:
        return None
    reason = ended.reason
    return StepFailure(type=reason.type, message=reason.message, detail=reason.detail, cause=reason.cause)
