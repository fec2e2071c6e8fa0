"""What is checked before a run begins: that the plan can run, who may run it, and the input."""

from tuvl.engine.context import RunContext
from tuvl.errors import ConfigError, InputError, UsageError
from tuvl.plan.model import ExecutionPlan
from tuvl.principal import Principal
from tuvl.values import JsonObject, JsonValue, NotJsonError, to_json


class MayNotStart(UsageError):
    """The principal lacks a right that the workflow asks for."""


def check_start(plan: ExecutionPlan, principal: Principal) -> None:
    """Raise `ConfigError` for a plan that cannot run, `MayNotStart` for a principal who may not run it."""
    if plan.refusals:
        listed = "; ".join(plan.refusals)
        raise ConfigError(f"workflow {plan.workflow!r} cannot run: {listed}")
    missing = principal.lacks(scope=plan.required_scope, group=plan.required_group)
    if missing is not None:
        raise MayNotStart(f"principal {principal.id!r} may not run workflow {plan.workflow!r}: it needs {missing}")


def initial_context(plan: ExecutionPlan, given: JsonObject) -> RunContext:
    """Make the context from the input; raises `InputError` when the input does not fit the workflow."""
    reserved = sorted(key for key in given if key.startswith("_"))
    if reserved:
        raise _refused(plan, f"key {reserved[0]!r} is reserved; names with a leading '_' belong to the engine")
    try:
        value = to_json(given, where="input")
    except NotJsonError as error:
        raise _refused(plan, str(error)) from None
    data: dict[str, JsonValue] = value if isinstance(value, dict) else {}
    if plan.input_schema is not None:
        violations = plan.input_schema.violations(data)
        if violations:
            raise _refused(plan, "; ".join(str(violation) for violation in violations))
    context = RunContext(data, max_bytes=plan.limits.max_context_bytes)
    if context.size > plan.limits.max_context_bytes:
        raise _refused(
            plan, f"it has {context.size} bytes; limits.max_context_bytes is {plan.limits.max_context_bytes}"
        )
    return context


def _refused(plan: ExecutionPlan, reason: str) -> InputError:
    return InputError(f"the input does not fit workflow {plan.workflow!r}: {reason}")
