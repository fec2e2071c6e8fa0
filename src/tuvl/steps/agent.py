"""Agent steps: hands the engine's dispatch, control and meter to the agent, and the agent's exit back."""

from dataclasses import replace

from tuvl.agent.assembly import Assembly
from tuvl.agent.completion import CompletionRunner
from tuvl.agent.exits import Exit
from tuvl.agent.ledger import Ledger
from tuvl.agent.outcome import OutcomeContract
from tuvl.agent.prompt import autonomous_opening, completion_opening
from tuvl.agent.steering import recorded_steers
from tuvl.agent.transcript import Transcript
from tuvl.plan.model import AgentPlan
from tuvl.steps.agent_gates import gates_of, masks_of
from tuvl.steps.agent_parts import AgentParts, model_part
from tuvl.steps.agent_records import ledger_of
from tuvl.steps.agent_tools import bounds_of, emitter_of, toolbox_of
from tuvl.steps.base import StepFailure, StepResult, StepScope


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
    services, emit = scope.services, emitter_of(scope)
    bounds = bounds_of(agent, services, on_record=lambda: steers is not None and steers.call_is_known)
    ledger = ledger_of(agent, scope, transcript)
    gates = gates_of(agent, scope, bounds, ledger)
    steers = recorded_steers(services.control, services.journal, model=model_part(agent.model), meter=bounds.meter)
    parts = AgentParts(agent=agent, scope=scope, bounds=bounds, emit=emit, turn=lambda: runner.turn, steers=steers)
    overseer = None if services.oversight is None else services.oversight.of_agent(scope, bounds, ledger)
    assembly = Assembly(
        settings=parts.settings(),
        ports=replace(parts.ports(), overseer=overseer),
        toolbox=toolbox_of(parts, gates, agent.tools, watch=overseer),
        bounds=bounds,
        gates=gates,
        control=services.control,
        ledger=ledger,
        clock=services.clock,
        emit=emit,
        steers=steers,
    )
    runner = assembly.runner(parts.model(), summary_model=parts.summary_model())
    system, user = autonomous_opening(agent, scope.values, scope.public)
    ended = await runner.run(system, user)
    if overseer is not None:
        await overseer.ended()
    return transcript.turn, ended


async def _complete(agent: AgentPlan, scope: StepScope, transcript: Transcript) -> tuple[int, Exit]:
    services, emit = scope.services, emitter_of(scope)
    journal, part = services.journal, model_part(agent.model)
    bounds = bounds_of(agent, services, on_record=lambda: journal.known(journal.upcoming(part)) is not None)
    parts = AgentParts(agent=agent, scope=scope, bounds=bounds, emit=emit, turn=lambda: runner.turn)
    runner = CompletionRunner(
        agent=agent,
        model=parts.model(),
        bounds=bounds,
        contract=OutcomeContract(plan=agent.outcome),
        gates=gates_of(agent, scope, bounds, Ledger(transcript=transcript)),
        control=services.control,
        transcript=transcript,
        clock=services.clock,
    )
    ended = await runner.run(*completion_opening(agent, scope.values, scope.public))
    return transcript.turn, ended


def _failure(ended: Exit) -> StepFailure | None:
    if ended.reason is None:
        return None
    reason = ended.reason
    return StepFailure(type=reason.type, message=reason.message, detail=reason.detail, cause=reason.cause)
