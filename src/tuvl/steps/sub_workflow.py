"""Workflow steps: another workflow of the project, on a context of its own, within what the run has left."""

from typing import cast

from tuvl.plan.model import SubWorkflowPlan
from tuvl.steps.base import StepResult, StepScope
from tuvl.values import JsonObject


async def run_sub_workflow(scope: StepScope) -> StepResult:
    """Run the workflow on its input; its output goes to the step's key."""
    action = scope.step.action
    if not isinstance(action, SubWorkflowPlan):
        raise TypeError(f"step {scope.step.id!r} runs no workflow")
    given = cast(JsonObject, action.input.render(scope.values))
    ended = await scope.services.sub_run(scope, action.plan, given)
    if ended.failure is not None:
        return ended
    return StepResult(delta={action.output_key: ended.output}, handled=ended.handled)
