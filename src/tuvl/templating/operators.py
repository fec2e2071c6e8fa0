"""Arithmetic and comparison on data: nothing is coerced, and no result is larger than the budget allows."""

import math
from typing import assert_never

from tuvl.errors import TemplateError
from tuvl.templating.budget import MAX_INTEGER_BITS, Rendering
from tuvl.templating.lookup import kind_of
from tuvl.templating.tree import Arithmetic, Comparison
from tuvl.values import JsonValue


def calculate(operator: Arithmetic, left: JsonValue, right: JsonValue, rendering: Rendering) -> JsonValue:
    """Calculate with two numbers; `+` also joins two texts or two lists, `*` repeats a text."""
    a, b = _number(left), _number(right)
    if a is not None and b is not None:
        return _on_numbers(operator, a, b)
    if operator == "+" and isinstance(left, str) and isinstance(right, str):
        rendering.write(len(left) + len(right))
        return left + right
    if operator == "+" and isinstance(left, list) and isinstance(right, list):
        rendering.work(len(left) + len(right))
        return left + right
    if operator == "*" and isinstance(left, str) and isinstance(right, int) and not isinstance(right, bool):
        rendering.write(len(left) * max(right, 0))
        return left * right
    advice = "; `~` joins anything to text" if operator == "+" else ""
    raise TemplateError(f"{operator!r} does not take {kind_of(left)} and {kind_of(right)}{advice}")


def _number(value: JsonValue) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _on_numbers(operator: Arithmetic, left: int | float, right: int | float) -> int | float:
    try:
        return checked_number(_apply(operator, left, right))
    except ZeroDivisionError:
        raise TemplateError(f"{operator!r} divides by zero") from None
    except OverflowError:
        raise TemplateError(f"the result of {operator!r} is too large a number") from None


def _apply(operator: Arithmetic, left: int | float, right: int | float) -> int | float | complex:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right
        case "//":
            return left // right
        case "%":
            return left % right
        case "**":
            return _power(left, right)
        case _:
            assert_never(operator)


def _power(base: int | float, exponent: int | float) -> int | float | complex:
    if isinstance(base, int) and isinstance(exponent, int) and exponent * base.bit_length() > MAX_INTEGER_BITS:
        raise OverflowError
    result: int | float | complex = base**exponent
    return result


def checked_number(value: int | float | complex) -> int | float:
    """Let a result pass when JSON can hold it and it is no monster; raises `OverflowError` or `TemplateError`."""
    if isinstance(value, complex):
        raise TemplateError("a root of a negative number is no number")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise OverflowError
    elif value.bit_length() > MAX_INTEGER_BITS:
        raise OverflowError
    return value


def negated(value: JsonValue, *, negative: bool) -> JsonValue:
    """Apply a sign to a number."""
    number = _number(value)
    if number is None:
        raise TemplateError(f"a sign needs a number, not {kind_of(value)}")
    return -number if negative else number


def compares(operator: Comparison, left: JsonValue, right: JsonValue, rendering: Rendering) -> bool:
    """Compare: anything for equality, numbers with numbers and text with text for order, an item with its container."""
    rendering.walk(left)
    rendering.walk(right)
    match operator:
        case "==":
            return left == right
        case "!=":
            return left != right
        case "in":
            return _contains(right, left)
        case "not in":
            return not _contains(right, left)
        case "<" | "<=" | ">" | ">=":
            return _ordered(operator, left, right)
        case _:
            assert_never(operator)


def _ordered(operator: str, left: JsonValue, right: JsonValue) -> bool:
    a, b = _number(left), _number(right)
    if a is not None and b is not None:
        below, equal = a < b, a == b
    elif isinstance(left, str) and isinstance(right, str):
        below, equal = left < right, left == right
    else:
        raise TemplateError(f"{operator!r} does not take {kind_of(left)} and {kind_of(right)}")
    match operator:
        case "<":
            return below
        case "<=":
            return below or equal
        case ">":
            return not below and not equal
        case _:
            return not below


def _contains(container: JsonValue, item: JsonValue) -> bool:
    if isinstance(container, list):
        return item in container
    if isinstance(container, dict):
        return isinstance(item, str) and item in container
    if isinstance(container, str) and isinstance(item, str):
        return item in container
    raise TemplateError(f"'in' does not take {kind_of(item)} and {kind_of(container)}")
