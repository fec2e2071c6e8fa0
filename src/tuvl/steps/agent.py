"""Agent steps: hands the engine's dispatch, control and meter to the agent, and the agent's exit back."""

from collections.abc import Callable

from tuvl.agent.asking import Asker, Sampling
from tuvl.agent.closing import Closing
from tuvl.agent.completion import CompletionRunner
from tuvl.agent.exits import Exit
from tuvl.agent.gates import OpenGates
from tuvl.agent.ledger import Ledger
from tuvl.agent.limits import Bounds
from tuvl.agent.loop import AgentStepRunner
from tuvl.agent.offer import Offer
from tuvl.agent.outcome import OutcomeContract
from tuvl.agent.prompt import autonomous_opening, untrusted
from tuvl.agent.transcript import Transcript
from tuvl.errors import StepError
from tuvl.events.types import EventBody, ModelCallStarted
from tuvl.llm.messages import ChatModel
from tuvl.llm.meter import Meter
from tuvl.llm.retrying import RetryingModel
from tuvl.plan.model import AgentPlan
from tuvl.steps.base import FATAL_TYPES, RunServices, StepFailure, StepResult, StepScope
from tuvl.tools.tool import ToolDispatch, ToolFailure, ToolOutcome
from tuvl.tools.toolbox import Toolbox, ToolPolicy
from tuvl.values import JsonObject


async def run_agent(scope: StepScope) -> StepResult:
    """Run an Agent step of either mode."""
    agent = scope.step.action
    if not isinstance(agent, AgentPlan):
        raise TypeError(f"step {scope.step.id!r} has no agent plan")
    transcript = Transcript(scope.step.id, scope.trace)
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
    services, emit, gates = scope.services, _emitter(scope), OpenGates()
    bounds = _bounds(agent, services)
    toolbox = Toolbox(
        agent.tools,
        dispatch=_tool_dispatch(services),
        merge=services.merge,
        policy=ToolPolicy(
            on_error=agent.tool_error_policy,
            arg_validation=agent.arg_validation,
            dedup_within_turn=agent.dedup_within_turn,
            default_timeout_s=services.settings.agent_tool_timeout_s,
        ),
        gate=gates,
        control=services.control,
        clock=services.clock,
        emit=emit,
    )
    ledger = Ledger(transcript=transcript)
    model = _model(agent, services, emit, lambda: runner.turn)
    asker = Asker(
        model=model,
        toolbox=toolbox,
        offer=Offer(declared=tuple(tool.ref for tool in agent.tools)),
        bounds=bounds,
        control=services.control,
        ledger=ledger,
        clock=services.clock,
        sampling=Sampling(max_output_tokens=agent.max_output_tokens, temperature=agent.temperature),
    )
    contract = OutcomeContract(plan=agent.outcome)
    runner = AgentStepRunner(
        asker=asker,
        toolbox=toolbox,
        bounds=bounds,
        closing=Closing(contract=contract, gates=gates, retries_left=agent.limits.answer_retries),
        gates=gates,
        control=services.control,
        ledger=ledger,
        emit=emit,
    )
    system, user = autonomous_opening(agent, scope.values, scope.public)
    ended = await runner.run(system, user)
    return runner.turn, ended


async def _complete(agent: AgentPlan, scope: StepScope, transcript: Transcript) -> tuple[int, Exit]:
    services, emit = scope.services, _emitter(scope)
    runner = CompletionRunner(
        agent=agent,
        model=_model(agent, services, emit, lambda: runner.turn),
        bounds=_bounds(agent, services),
        contract=OutcomeContract(plan=agent.outcome),
        gates=OpenGates(),
        control=services.control,
        transcript=transcript,
        clock=services.clock,
    )
    system = agent.system.render_text(scope.values) if agent.system is not None else None
    user = agent.prompt.render_text(scope.values) if agent.prompt is not None else ""
    public = scope.public
    parts = [user, *(untrusted(key, public[key]) for key in agent.context_injection if key in public)]
    ended = await runner.run(system, "\n\n".join(part for part in parts if part))
    return runner.turn, ended


def _bounds(agent: AgentPlan, services: RunServices) -> Bounds:
    return Bounds(
        agent.limits,
        services.plan.limits,
        meter=Meter(parent=services.meter),
        run_meter=services.meter,
        clock=services.clock,
    )


def _model(
    agent: AgentPlan, services: RunServices, emit: Callable[[EventBody], None], turn: Callable[[], int]
) -> ChatModel:
    return RetryingModel(
        services.model_for(agent.model),
        agent.retry,
        timeout_s=agent.timeout_s,
        clock=services.clock,
        on_attempt=lambda attempt: emit(ModelCallStarted(iteration=turn(), attempt=attempt)),
    )


def _tool_dispatch(services: RunServices) -> ToolDispatch:
    async def dispatch(ref: str, arguments: JsonObject) -> ToolOutcome:
        result = await services.dispatch(ref, arguments)
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
    emit, step_id = scope.services.emit, scope.step.id
    return lambda body: emit(step_id, body)


def _failure(ended: Exit) -> StepFailure | None:
    if ended.reason is None:
        return None
    reason = ended.reason
    return StepFailure(type=reason.type, message=reason.message, detail=reason.detail, cause=reason.cause)
