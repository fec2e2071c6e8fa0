"""ModelOp steps: one operation on records, inside the transaction of the step, with the rights of the principal."""

from collections.abc import Mapping

from tuvl.data.access import check_access
from tuvl.errors import StepError
from tuvl.plan.model import ModelOpPlan
from tuvl.steps.base import StepResult, StepScope
from tuvl.templating.render import Template
from tuvl.values import JsonValue


async def run_model_op(scope: StepScope) -> StepResult:
    """Do the operation; what the database says no to fails the step, and its transaction is undone."""
    action = scope.step.action
    if not isinstance(action, ModelOpPlan):
        raise TypeError(f"step {scope.step.id!r} is no operation on records")
    if scope.data is None:
        raise StepError("this run has no databases", type="not_available")
    _check_access(action, scope)
    payload = None if action.payload is None else action.payload.render(scope.values)
    filters = None if action.filters is None else action.filters.render(scope.values)
    record_id = action.record_id
    # SQLAlchemy's import takes longer than most runs: those who work on records pay for it.
    from tuvl.data.operations import Request, perform
    from tuvl.steps.marked import mark_of

    request = Request(
        operation=action.operation,
        payload=_mapping(payload, "payload"),
        record_id=record_id.render(scope.values) if isinstance(record_id, Template) else record_id,
        filters=_mapping(filters, "filters"),
        include=action.include,
        limit=action.limit,
        order_by=action.order_by,
    )
    mark = await mark_of(scope, action)
    if mark is None:
        return StepResult(delta={action.output: await perform(request, action.model, action.models, scope.data)})
    outcome = await mark.once(request, lambda: perform(request, action.model, action.models, mark.data))
    return StepResult(delta={action.output: outcome})


def _check_access(action: ModelOpPlan, scope: StepScope) -> None:
    principal = scope.services.principal
    check_access(action.model, action.operation, principal)
    for name in action.include:
        relation = action.model.relation(name)
        if relation is not None:
            check_access(action.models[relation.model], "read", principal)


def _mapping(value: JsonValue, field: str) -> Mapping[str, JsonValue]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise StepError(f"{field} did not give a mapping of fields to values", type=f"invalid_{field}")
    return value
