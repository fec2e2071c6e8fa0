"""Evaluates the comparison of a router for single values."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from tuvl.analysis.steps import items

RAYS: Mapping[str, Callable[[float, float], bool]] = {
    "gt": lambda value, bound: value > bound,
    "gte": lambda value, bound: value >= bound,
    "lt": lambda value, bound: value < bound,
    "lte": lambda value, bound: value <= bound,
}
OTHER = object()
"""A value that no condition names."""


def holds(condition: Mapping[str, Any], value: object) -> str:
    """The signal for a value of a kind that the condition compares with."""
    operator, bound = condition.get("operator"), condition.get("value")
    if isinstance(operator, str) and operator in RAYS and isinstance(value, int | float):
        found = RAYS[operator](value, bound)  # type: ignore[arg-type]  # a number, see `decisions`
    elif operator == "in":
        found = any(same(value, each) for each in items(bound))
    else:
        found = same(value, bound) == (operator == "eq")
    return "true" if found else "false"


def same(one: object, other: object) -> bool:
    """Whether two values are equal, and of one kind."""
    if is_number(one) and is_number(other):
        return one == other
    return one is not OTHER and type(one) is type(other) and one == other


def as_float(value: int | float) -> float:
    """The number as a float; one beyond all floats is the largest of them."""
    return float(max(-sys.float_info.max, min(value, sys.float_info.max)))


def is_number(value: object) -> bool:
    """Whether a value is a number; a boolean is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
