"""The toolbox of an agent step: calls go to the engine's dispatch, and what they spend is the agent's."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tuvl.agent.gates import Gates
from tuvl.agent.limits import Bounds
from tuvl.errors import StepError
from tuvl.events.types import EventBody
from tuvl.llm.meter import Meter
from tuvl.plan.model import AgentPlan
from tuvl.steps.agent_book import book_of, services_of_call
from tuvl.steps.agent_gates import tool_hooks_of
from tuvl.steps.agent_parts import AgentParts
from tuvl.steps.base import FATAL_TYPES, RunServices, StepScope
from tuvl.tools.tool import ToolDispatch, ToolFailure, ToolOutcome, ToolPlan
from tuvl.tools.toolbox import CallWatch, Toolbox
from tuvl.values import JsonObject


def toolbox_of(
    parts: AgentParts, gates: Gates, tools: Sequence[ToolPlan], *, watch: CallWatch | None = None
) -> Toolbox:
    """Return the toolbox that answers the calls of one agent, or one call in its place; `watch` looks at each."""
    services = parts.scope.services
    return Toolbox(
        tools,
        dispatch=_tool_dispatch(parts.scope, parts.bounds),
        merge=services.merge,
        policy=parts.tool_policy(),
        gate=gates,
        control=services.control,
        clock=services.clock,
        emit=parts.emit,
        clearance=parts.clearance(),
        hooks=tool_hooks_of(parts.scope),
        watch=watch,
        book=book_of(parts.scope, parts.bounds),
    )


def bounds_of(agent: AgentPlan, services: RunServices, *, on_record: Callable[[], bool] = lambda: False) -> Bounds:
    """Return the bounds of one run of an agent, inside those of the run around it."""
    return Bounds(
        agent.limits,
        meter=Meter(parent=services.meter),
        clock=services.clock,
        around=services.budgets,
        journal=services.journal,
        on_record=on_record,
    )


def _tool_dispatch(scope: StepScope, bounds: Bounds) -> ToolDispatch:
    # What a tool spends, a workflow for one, comes out of the budget of the agent that called it.
    services = replace(scope.services, meter=bounds.meter, budgets=bounds.budgets)
    # Inside a ForEach the item stays in sight of the tools.
    around = scope.args or {}

    async def dispatch(ref: str, arguments: JsonObject) -> ToolOutcome:
        given = {**around, **arguments} if around else arguments
        result = await services.dispatch(ref, given, services=services_of_call(scope, services))
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


def emitter_of(scope: StepScope) -> Callable[[EventBody], None]:
    """Return what emits the events of a step under its place."""
    emit, place = scope.services.emit, scope.place
    return lambda body: emit(place, body)
