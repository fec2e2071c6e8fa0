"""Router steps: one typed comparison, a value as the signal, or the first true expression."""

from collections.abc import Mapping, Sequence
from typing import assert_never

from tuvl.errors import StepError
from tuvl.plan.model import ConditionPlan, MatchPlan, WhenPlan
from tuvl.spec.signals import DEFAULT
from tuvl.steps.base import StepResult, StepScope
from tuvl.values import JsonValue, dig, dump_json


async def run_router(scope: StepScope) -> StepResult:
    """Choose a signal from the context."""
    action = scope.step.action
    match action:
        case ConditionPlan():
            return StepResult(signal="true" if holds(action, scope.values) else "false")
        case MatchPlan(field=field):
            text = _signal_text(_found(field, scope.values), field)
            # As a tool the router answers with the value itself: its routes do not count then.
            known = scope.args is not None or text in scope.step.routes
            return StepResult(signal=text if known else DEFAULT)
        case WhenPlan(cases=cases):
            for test, signal in cases:
                if _truth(test.render(scope.values), test.source):
                    return StepResult(signal=signal)
            return StepResult()
        case _:
            raise TypeError(f"step {scope.step.id!r} is no router")


def holds(condition: ConditionPlan, values: Mapping[str, JsonValue]) -> bool:
    """Evaluate one comparison; raises `StepError` when the two sides do not compare."""
    if condition.operator == "is_empty" or condition.operator == "is_not_empty":
        return _empty(condition.field, values) == (condition.operator == "is_empty")
    left, right = _found(condition.field, values), condition.value
    match condition.operator:
        case "eq" | "neq":
            _same_kind(left, right, condition)
            return equal(left, right) == (condition.operator == "eq")
        case "gt" | "gte" | "lt" | "lte":
            return _ordered(left, right, condition)
        case "in":
            return _contains(right, left, condition)
        case "contains":
            return _contains(left, right, condition)
        case _:
            assert_never(condition.operator)


def _ordered(left: JsonValue, right: JsonValue, condition: ConditionPlan) -> bool:
    _same_kind(left, right, condition)
    order: int
    if isinstance(left, str) and isinstance(right, str):
        order = (left > right) - (left < right)
    elif kind_of(left) == "number":
        order = (left > right) - (left < right)  # type: ignore[operator]  # both are numbers: same kind
    else:
        raise _incomparable(left, right, condition)
    match condition.operator:
        case "gt":
            return order > 0
        case "gte":
            return order >= 0
        case "lt":
            return order < 0
        case _:
            return order <= 0


def _contains(whole: JsonValue, part: JsonValue, condition: ConditionPlan) -> bool:
    if isinstance(whole, str) and isinstance(part, str):
        return part in whole
    if isinstance(whole, dict) and isinstance(part, str):
        return part in whole
    if isinstance(whole, list):
        if whole and all(kind_of(item) != kind_of(part) for item in whole):
            # "5" among [5, 6] is a mistake of types, not an honest no.
            raise _incomparable(whole[0], part, condition)
        return any(equal(item, part) for item in whole)
    raise _incomparable(whole, part, condition)


def equal(left: JsonValue, right: JsonValue) -> bool:
    """Compare two JSON values: numbers by value, and a boolean is no number."""
    if kind_of(left) != kind_of(right):
        return False
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(item, right[key]) for key, item in left.items())
    return left == right


def kind_of(value: JsonValue) -> str:
    """Name the JSON type of a value; integers and floats are both numbers."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "list"
        case _:
            return "mapping"


def _same_kind(left: JsonValue, right: JsonValue, condition: ConditionPlan) -> None:
    if kind_of(left) != kind_of(right):
        raise _incomparable(left, right, condition)


def _incomparable(left: JsonValue, right: JsonValue, condition: ConditionPlan) -> StepError:
    field = ".".join(condition.field)
    return StepError(
        f"{condition.operator!r} cannot compare {field!r}: {kind_of(left)} with {kind_of(right)}",
        type="type_mismatch",
        detail={"field": field, "operator": condition.operator, "kinds": [kind_of(left), kind_of(right)]},
    )


def _empty(field: Sequence[str], values: Mapping[str, JsonValue]) -> bool:
    try:
        value = dig(dict(values), field)
    except KeyError:
        return True
    return value is None or value in ("", [], {})


def _found(field: Sequence[str], values: Mapping[str, JsonValue]) -> JsonValue:
    try:
        return dig(dict(values), field)
    except KeyError as missing:
        name = ".".join(field)
        raise StepError(
            f"there is no {name!r} in the context (nothing at {missing.args[0]!r})",
            type="missing_key",
            detail={"field": name},
        ) from None


def _signal_text(value: JsonValue, field: Sequence[str]) -> str:
    match value:
        case str():
            return value
        case bool() | int() | float() | None:
            return dump_json(value)
        case _:
            name = ".".join(field)
            raise StepError(
                f"{name!r} is a {kind_of(value)}; only text, numbers, booleans and null can be a signal",
                type="type_mismatch",
                detail={"field": name},
            )


def _truth(value: JsonValue, source: str) -> bool:
    if isinstance(value, bool):
        return value
    raise StepError(
        f"`if: {source}` gave a {kind_of(value)}, not true or false",
        type="type_mismatch",
        detail={"if": source, "kind": kind_of(value)},
    )
