"""Agent steps → `AgentPlan`."""

from collections.abc import Iterator

from tuvl.analysis.effects import effects_of
from tuvl.analysis.parameters import ToolUse, tool_uses
from tuvl.analysis.policy import asks_by_policy
from tuvl.analysis.steps import StepView, WorkflowView, text
from tuvl.llm.messages import ToolSpec
from tuvl.plan.compile_guardrails import compile_guardrails
from tuvl.plan.compile_history import (
    compile_compaction,
    compile_conclude,
    compile_context_limits,
    compile_reserve,
)
from tuvl.plan.compile_limits import stricter
from tuvl.plan.compile_schema import compile_schema
from tuvl.plan.model import AgentLimits, AgentPlan, ModelPlan, OutcomePlan, RetryPlan
from tuvl.plan.project import PlanProject
from tuvl.spec.agent import Agent, AutonomousAgent, AutonomousStep, CompletionStep, Outcome, Retry, ToolEntry
from tuvl.templating.render import Template, compile_template
from tuvl.tools.approval import ApprovalRule
from tuvl.tools.tool import ToolPlan
from tuvl.values import JsonObject

DEFAULT_MODEL_TIMEOUT_S = 120.0
"""One model call, when neither the agent nor its preset says otherwise."""


def compile_completion(step: CompletionStep, workflow: WorkflowView, project: PlanProject) -> AgentPlan:
    """Compile a single-call agent."""
    agent = step.agent
    model = project.model(agent.model, step=step.id)
    return AgentPlan(
        mode="completion",
        model=model,
        outcome=_outcome(step.id, agent.outcome),
        limits=AgentLimits(),
        retry=_retry(agent.retry),
        timeout_s=_timeout_s(agent, model),
        max_output_tokens=_max_output_tokens(agent, model),
        temperature=_temperature(agent, model),
        skills=_skills(step.id, agent, project),
        context_injection=agent.context_injection,
        system=_prose(agent.system, step.id, "system", project),
        prompt=_prose(agent.prompt, step.id, "prompt", project),
        guardrails=compile_guardrails(agent.guardrails, step=step.id, workflow=workflow, project=project),
    )


def compile_autonomous(step: AutonomousStep, workflow: WorkflowView, project: PlanProject) -> AgentPlan:
    """Compile a tool loop."""
    agent = step.agent
    model = project.model(agent.model, step=step.id)
    return AgentPlan(
        mode="autonomous",
        model=model,
        outcome=_outcome(step.id, agent.outcome),
        limits=_limits(agent),
        retry=_retry(agent.retry),
        timeout_s=_timeout_s(agent, model),
        max_output_tokens=_max_output_tokens(agent, model),
        temperature=_temperature(agent, model),
        steering=_prose(agent.steering, step.id, "steering", project),
        skills=_skills(step.id, agent, project),
        context_injection=agent.context_injection,
        tools=tuple(_tools(step, workflow.by_id[step.id], workflow, project)),
        tool_error_policy=agent.tool_error_policy,
        arg_validation=agent.arg_validation,
        dedup_within_turn=agent.dedup_within_turn,
        tool_concurrency=agent.tool_concurrency,
        conclude=compile_conclude(agent.conclude),
        compaction=compile_compaction(step.id, agent, model, project),
        context_limits=compile_context_limits(agent.context_limits),
        trim=agent.trim,
        tool_surface=agent.tool_surface,
        continue_on_stop=agent.continue_on_stop,
        max_continuations=agent.max_continuations,
        reserve=compile_reserve(agent.reserve),
        heartbeat_s=agent.heartbeat_s,
        steer_mode=agent.steer_mode,
        stream=agent.stream,
        audit=agent.audit is True,
        conversation=_conversation(step),
        guardrails=compile_guardrails(agent.guardrails, step=step.id, workflow=workflow, project=project),
    )


def _limits(agent: AutonomousAgent) -> AgentLimits:
    return AgentLimits(
        max_iterations=agent.max_iterations,
        token_budget=agent.token_budget,
        cost_budget_usd=agent.cost_budget_usd,
        budget_check=agent.budget_check,
        max_wall_clock_s=agent.max_wall_clock_s,
        max_tool_calls=agent.max_tool_calls,
        max_calls_per_turn=agent.max_calls_per_turn,
        max_consecutive_tool_failures=agent.max_consecutive_tool_failures,
        max_repeated_calls=agent.max_repeated_calls,
        answer_retries=agent.answer_retries,
    )


def _conversation(step: AutonomousStep) -> Template | str | None:
    given = step.agent.conversation
    if given is None or isinstance(given, str):
        return given
    return compile_template(given.id, where=f"step {step.id!r} field 'agent.conversation.id'")


def _outcome(step_id: str, outcome: Outcome) -> OutcomePlan:
    schema = outcome.schema_
    return OutcomePlan(
        write=outcome.write or f"{step_id}_result",
        enum=outcome.enum,
        format=outcome.format,
        map=outcome.map,
        write_whole=outcome.write is not None,
        schema=None
        if schema is None
        else compile_schema(schema, where=f"step {step_id!r} field 'agent.outcome.schema'"),
    )


def _retry(retry: Retry) -> RetryPlan:
    return RetryPlan(
        attempts=retry.attempts, on=frozenset(retry.on), backoff_s=retry.backoff, max_backoff_s=retry.max_backoff_s
    )


def _timeout_s(agent: Agent, model: ModelPlan) -> float:
    preset = None if model.preset is None else model.preset.spec.timeout
    return agent.timeout_s or preset or DEFAULT_MODEL_TIMEOUT_S


def _max_output_tokens(agent: Agent, model: ModelPlan) -> int | None:
    preset = None if model.preset is None else model.preset.spec.max_tokens
    return agent.max_output_tokens or preset


def _temperature(agent: Agent, model: ModelPlan) -> float | None:
    if agent.temperature is not None or model.preset is None:
        return agent.temperature
    return model.preset.spec.temperature


def _prose(prose: str | None, step_id: str, site: str, project: PlanProject) -> Template | None:
    if prose is None:
        return None
    return project.prose(prose, site=site, where=f"step {step_id!r} field 'agent.{site}'")


def _skills(step_id: str, agent: Agent, project: PlanProject) -> tuple[Template, ...]:
    where = f"step {step_id!r} field 'agent.skills"
    return tuple(
        project.prose(skill, site="skills", where=f"{where}[{index}]'") for index, skill in enumerate(agent.skills)
    )


def _tools(step: AutonomousStep, view: StepView, workflow: WorkflowView, project: PlanProject) -> Iterator[ToolPlan]:
    uses: dict[str, ToolUse] = {use.ref: use for use in tool_uses(view, workflow)}
    for index, entry in enumerate(step.agent.tools):
        use = uses[entry.ref]
        where = f"step {step.id!r} field 'agent.tools[{index}]"
        # Providers refuse a schema whose root is no object, or an object without `properties`.
        parameters: JsonObject = {"type": "object", "properties": {}, **use.parameters}
        effects = effects_of(use.step, project.index)
        yield ToolPlan(
            ref=entry.ref,
            kind=use.step.kind or "",
            spec=ToolSpec(name=entry.ref, description=use.description.strip(), parameters=parameters),
            arguments=compile_schema(parameters, where=f"{where}.parameters'"),
            effects=effects,
            writes_context=entry.writes_context,
            timeout_s=_tool_timeout_s(entry, use.step),
            on_timeout=entry.on_timeout,
            max_calls=entry.max_calls,
            max_result_chars=entry.max_result_chars or step.agent.tool_result_max_chars,
            max_result_bytes=step.agent.tool_result_max_bytes,
            approval=_approval(
                entry.approval, asks_by_policy(use.step, workflow, project.index), where=f"{where}.approval'"
            ),
            required_scope=text(use.step.get("auth", "required_scope")),
            required_group=text(use.step.get("auth", "required_group")),
        )


def _approval(approval: str, by_policy: bool, *, where: str) -> ApprovalRule | None:
    """Compile `approval`; what the policy holds back is asked about whatever the entry says."""
    if by_policy:
        return ApprovalRule(reason="the project's policy asks for approval of such tools")
    if approval == "never":
        return None
    if approval == "required":
        return ApprovalRule(reason="the tool needs approval")
    return ApprovalRule(
        reason=f"approval is asked for when {approval}", condition=compile_template(approval, where=where)
    )


def _tool_timeout_s(entry: ToolEntry, target: StepView) -> float | None:
    own = target.data.get("timeout_s")
    return stricter(entry.timeout_s, float(own) if isinstance(own, int | float) else None)
