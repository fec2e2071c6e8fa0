"""A workflow inside a step: how it begins, and what the step makes of its end."""

from tuvl.engine.admission import initial_context
from tuvl.engine.context import RunContext
from tuvl.engine.result import RunResult
from tuvl.errors import InputError, StepError
from tuvl.plan.model import ExecutionPlan
from tuvl.principal import Principal
from tuvl.spec.signals import ERROR, Reserved
from tuvl.steps.base import StepFailure, StepResult
from tuvl.values import JsonObject


def nested_context(plan: ExecutionPlan, input: JsonObject, principal: Principal) -> RunContext:
    """Make the context; raises `StepError` for a principal who may not run the workflow, and an unfit input."""
    missing = principal.lacks(scope=plan.required_scope, group=plan.required_group)
    if missing is not None:
        raise StepError(
            f"principal {principal.id!r} may not run workflow {plan.workflow!r}: it needs {missing}", type="forbidden"
        )
    try:
        return initial_context(plan, input)
    except InputError as error:
        raise StepError(str(error), type="input", detail={"workflow": plan.workflow}) from error


def nested_result(result: RunResult) -> StepResult:
    """Return how the step ends: with the output of the workflow, or with what went wrong in it."""
    failure = _failure(result)
    if result.status == "completed":
        return StepResult(output=result.output, handled=None if result.error is None else failure)
    return StepResult(signal=Reserved.ABORTED if result.status == "aborted" else ERROR, failure=failure)


def _failure(result: RunResult) -> StepFailure:
    """Return what went wrong inside, told as the step's."""
    error = result.error
    told = f"workflow {result.workflow!r} {result.status}"
    detail: JsonObject = {"workflow": result.workflow, "status": result.status}
    if error is None:
        return StepFailure(type=result.status, message=told, detail=detail)
    if error.step is not None:
        detail["step"] = error.step
    if error.detail:
        detail["detail"] = error.detail
    between = "; on the way, " if result.status == "completed" else ": "
    return StepFailure(type=error.type, message=f"{told}{between}{error.message}", detail=detail, cause=error.cause)
