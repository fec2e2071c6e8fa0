"""Response steps: what the run gives back."""

from collections.abc import Mapping, Sequence

from tuvl.errors import StepError
from tuvl.plan.model import ResponsePlan
from tuvl.steps.base import StepResult, StepScope
from tuvl.values import JsonValue, dig


async def run_response(scope: StepScope) -> StepResult:
    """Set the run's output from the context."""
    action = scope.step.action
    if not isinstance(action, ResponsePlan):
        raise TypeError(f"step {scope.step.id!r} is no response")
    if action.source is not None:
        return StepResult(output=_value(action.source, scope.values), has_output=True)
    output: JsonValue = {name: _value(path, scope.values) for name, path in action.mapping.items()}
    return StepResult(output=output, has_output=True)


def _value(path: Sequence[str], values: Mapping[str, JsonValue]) -> JsonValue:
    try:
        return dig(dict(values), path)
    except KeyError as missing:
        name = ".".join(path)
        raise StepError(
            f"there is no {name!r} in the context (nothing at {missing.args[0]!r})",
            type="missing_key",
            detail={"path": name},
        ) from None
