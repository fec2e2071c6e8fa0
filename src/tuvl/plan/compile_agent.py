"""Agent steps → `AgentPlan`."""

from collections.abc import Iterator

from tuvl.analysis.parameters import ToolUse, tool_uses
from tuvl.analysis.steps import StepView, WorkflowView
from tuvl.llm.messages import ToolSpec
from tuvl.plan.compile_limits import stricter
from tuvl.plan.compile_schema import compile_schema
from tuvl.plan.model import AgentLimits, AgentPlan, ModelPlan, OutcomePlan, RetryPlan
from tuvl.plan.project import PlanProject
from tuvl.spec.agent import Agent, AutonomousAgent, AutonomousStep, CompletionStep, Outcome, Retry, ToolEntry
from tuvl.templating.render import Template
from tuvl.tools.tool import ToolPlan
from tuvl.values import JsonObject

DEFAULT_MODEL_TIMEOUT_S = 120.0
"""One model call, when neither the agent nor its preset says otherwise."""


def compile_completion(step: CompletionStep, project: PlanProject) -> AgentPlan:
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
        tools=tuple(_tools(step, workflow.by_id[step.id], workflow)),
        tool_error_policy=agent.tool_error_policy,
        arg_validation=agent.arg_validation,
        dedup_within_turn=agent.dedup_within_turn,
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


def _prose(text: str | None, step_id: str, site: str, project: PlanProject) -> Template | None:
    if text is None:
        return None
    return project.prose(text, site=site, where=f"step {step_id!r} field 'agent.{site}'")


def _skills(step_id: str, agent: Agent, project: PlanProject) -> tuple[Template, ...]:
    where = f"step {step_id!r} field 'agent.skills"
    return tuple(
        project.prose(skill, site="skills", where=f"{where}[{index}]'") for index, skill in enumerate(agent.skills)
    )


def _tools(step: AutonomousStep, view: StepView, workflow: WorkflowView) -> Iterator[ToolPlan]:
    uses: dict[str, ToolUse] = {use.ref: use for use in tool_uses(view, workflow)}
    for index, entry in enumerate(step.agent.tools):
        use = uses[entry.ref]
        # Providers refuse a schema whose root is no object, or an object without `properties`.
        parameters: JsonObject = {"type": "object", "properties": {}, **use.parameters}
        yield ToolPlan(
            ref=entry.ref,
            kind=use.step.kind or "",
            spec=ToolSpec(name=entry.ref, description=use.description.strip(), parameters=parameters),
            arguments=compile_schema(parameters, where=f"step {step.id!r} field 'agent.tools[{index}].parameters'"),
            writes_context=entry.writes_context,
            timeout_s=_tool_timeout_s(entry, use.step),
            on_timeout=entry.on_timeout,
            max_calls=entry.max_calls,
            max_result_chars=entry.max_result_chars or step.agent.tool_result_max_chars,
            max_result_bytes=step.agent.tool_result_max_bytes,
        )


def _tool_timeout_s(entry: ToolEntry, target: StepView) -> float | None:
    own = target.data.get("timeout_s")
    return stricter(entry.timeout_s, float(own) if isinstance(own, int | float) else None)
