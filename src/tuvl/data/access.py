"""Who may touch the records of a data model: checked where it happens, on the spine and in a tool call alike."""

from typing import Literal, assert_never

from tuvl.data.model import DataModel, Operation
from tuvl.errors import StepError
from tuvl.principal import Principal

Act = Literal["read", "write", "delete"]


def check_access(model: DataModel, operation: Operation, principal: Principal) -> None:
    """Raise a `StepError` of type `access_denied` when the principal may not do this to records of the model."""
    act = act_of(operation)
    scope, groups = _asked(model, act)
    lacking = principal.lacks(scope=model.required_scope, group=model.required_group)
    lacking = lacking or principal.lacks(scope=scope, group=None)
    if lacking is None and groups and all(principal.lacks(scope=None, group=group) for group in groups):
        lacking = f"to be in the group {' or '.join(map(repr, groups))}"
    if lacking is not None:
        raise StepError(
            f"principal {principal.id!r} may not {act} records of {model.name!r}: it needs {lacking}",
            type="access_denied",
            detail={"model": model.name, "access": act},
        )


def _asked(model: DataModel, act: Act) -> tuple[str | None, tuple[str, ...]]:
    access = model.spec.access
    if access is None:
        return None, ()
    match act:
        case "read":
            return access.read_scope, access.read_groups
        case "write":
            return access.write_scope, access.write_groups
        case "delete":
            return access.delete_scope, access.delete_groups
        case _:
            assert_never(act)


def act_of(operation: Operation) -> Act:
    """Return which of the three rights an operation needs."""
    match operation:
        case "read" | "list":
            return "read"
        case "create" | "update":
            return "write"
        case "delete":
            return "delete"
        case _:
            assert_never(operation)
