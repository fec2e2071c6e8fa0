"""The spans of a run and of its steps: opened around them, told how they ended."""

from tuvl.engine.result import RunResult
from tuvl.plan.model import AgentPlan, ExecutionPlan
from tuvl.spec.signals import ERROR
from tuvl.steps.base import StepResult, StepScope
from tuvl.tracing import OFF, AttributeValue, Span, recording, span


def run_span(plan: ExecutionPlan, run_id: str) -> Span:
    """Return the span of a run, or of a workflow inside a step."""
    if not recording():
        return OFF
    return span(
        "workflow.execute",
        {
            "tuvl.run_id": run_id,
            "tuvl.workflow": plan.workflow,
            "tuvl.workflow.schema_version": plan.schema_version,
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": plan.workflow,
        },
    )


def tell_run_end(opened: Span, result: RunResult) -> RunResult:
    """Set how a run ended, and pass its result on."""
    if opened is OFF:
        return result
    opened.set("tuvl.run.status", result.status)
    if result.signal is not None:
        opened.set("tuvl.run.signal", result.signal)
    if result.status in ("failed", "aborted"):
        opened.fail(result.error.type if result.error is not None else result.status)
    return result


def step_span(scope: StepScope) -> Span:
    """Return the span of one execution of a step, on the spine or as a tool."""
    if not recording():
        return OFF
    step = scope.step
    attributes: dict[str, AttributeValue] = {
        "tuvl.run_id": scope.services.run_id,
        "tuvl.step_id": scope.place,
        "tuvl.step.kind": step.kind,
    }
    if isinstance(step.action, AgentPlan):
        attributes |= {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": step.id}
    return span(f"node.{step.kind}", attributes)


def tell_step_end(opened: Span, result: StepResult) -> StepResult:
    """Set how a step ended, and pass its result on."""
    if opened is OFF:
        return result
    opened.set("tuvl.step.signal", result.signal)
    if result.failure is not None:
        opened.fail(result.failure.type)
    elif result.signal == ERROR:
        opened.fail(ERROR)
    return result
