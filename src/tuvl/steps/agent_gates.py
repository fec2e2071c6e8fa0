"""What guards and observes one agent: the gates of its guardrails, what they keep out of the trace, its tool hooks."""

from collections.abc import Callable, Sequence
from functools import partial

from tuvl.agent.gates import Gates, OpenGates
from tuvl.agent.ledger import Ledger
from tuvl.agent.limits import Bounds
from tuvl.agent.recorded import recorded_model
from tuvl.agent.transcript import Masks
from tuvl.guardrails.gate import GuardedGates
from tuvl.guardrails.guard import GuardServices
from tuvl.guardrails.masking.masker import masker_for
from tuvl.hooks.tools import HookedTools
from tuvl.journal import Journal
from tuvl.llm.messages import ChatModel
from tuvl.plan.guards import GuardrailPlan, PiiMaskGuard
from tuvl.plan.model import AgentPlan, ModelPlan
from tuvl.steps.agent_book import services_of_call
from tuvl.steps.base import StepScope
from tuvl.tools.toolbox import ToolHooks
from tuvl.values import JsonValue


def gates_of(agent: AgentPlan, scope: StepScope, bounds: Bounds, ledger: Ledger) -> Gates:
    """Return the gates of one run; raises `ConfigError` for a judge whose model cannot be made."""
    if not agent.guardrails.checks:
        return OpenGates()
    services = scope.services
    return GuardedGates.of(
        agent.guardrails,
        GuardServices(
            model_for=lambda plan: recorded_judge(scope, plan),
            meter=bounds.meter,
            clock=services.clock,
            judge_timeout_s=services.settings.agent_judge_timeout_s,
            values=scope.values,
            require_price=bounds.require_price,
            check_budgets=bounds.check_after_call,
            judged=ledger.judged,
        ),
    )


def recorded_judge(scope: StepScope, plan: ModelPlan) -> ChatModel:
    """Return the model of a judge, on record: which calls it is asked about may come in another order next time.

    What it says of a tool's result is part of that call: it is not asked again where the call is on record.
    """
    services = scope.services
    raw = services.model_for(plan)
    inside = partial(_journal_of_call, scope)
    return recorded_model(raw, services.journal, f"judge.{plan.name}", raw=raw, by_content=True, inside=inside)


def _journal_of_call(scope: StepScope) -> Journal:
    return services_of_call(scope, scope.services).journal


def masks_of(agent: AgentPlan) -> Masks:
    """Return what is masked in trace and records: what passes a mask on its way must not stand there bare."""
    return Masks(said=_mask(agent.guardrails.output), observed=_mask(agent.guardrails.tools))


def _mask(guardrails: Sequence[GuardrailPlan]) -> Callable[[JsonValue], JsonValue] | None:
    maskers = [
        masker_for(check.fields)
        for guardrail in guardrails
        for check in guardrail.checks
        if isinstance(check, PiiMaskGuard)
    ]
    if not maskers:
        return None

    def mask(value: JsonValue) -> JsonValue:
        for masker in maskers:
            value = masker.value(value)
        return value

    return mask


def tool_hooks_of(scope: StepScope) -> ToolHooks | None:
    """Return the hooks that are told of each tool call; `None` when none is."""
    hooks = tuple(hook for hook in scope.step.hooks if hook.on in ("before_tool", "after_tool"))
    if not hooks or scope.services.hooks is None:
        return None
    return HookedTools(emitter=scope.services.hooks, hooks=hooks, step=scope.place, kind=scope.step.kind)
