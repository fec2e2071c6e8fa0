"""Expressions → functions of a rendering. Compiled once, called thousands of times."""

from collections.abc import Callable
from typing import TypeAlias, assert_never

from tuvl.errors import TemplateError
from tuvl.templating.budget import Rendering
from tuvl.templating.calls import Call, Operation, reach
from tuvl.templating.filters import FILTERS, TEST_TABLE
from tuvl.templating.lookup import Missing, Value, kind_of, member, require, to_text
from tuvl.templating.operators import calculate, compares, negated
from tuvl.templating.tree import (
    Both,
    Calculate,
    Choice,
    Compare,
    Defaulted,
    Defined,
    Each,
    Either,
    Expression,
    Filtered,
    Index,
    Join,
    ListOf,
    Literal,
    MapOf,
    Not,
    Part,
    Read,
    Select,
    Sign,
    Tested,
)
from tuvl.values import JsonObject, JsonValue

Evaluate: TypeAlias = Callable[[Rendering], Value]


def compile_expression(expression: Expression) -> Evaluate:  # noqa: C901  # one case for each member of a closed set
    """Compile an expression; the function returns `Missing` for a name that is not there."""
    match expression:
        case Literal(value):
            return lambda _: value
        case Read(name):
            return lambda rendering: rendering.read(name)
        case Index():
            return _index(expression)
        case Part():
            return _part(expression)
        case ListOf(items):
            return _list(items)
        case MapOf():
            return _mapping(expression)
        case Sign(negative, operand):
            number = compile_expression(operand)
            return lambda rendering: negated(require(number(rendering)), negative=negative)
        case Calculate():
            return _calculate(expression)
        case Compare():
            return _compare(expression)
        case Both() | Either() | Not() | Choice():
            return _logic(expression)
        case Join(parts):
            return _join(parts)
        case Filtered() | Tested():
            return _call(expression)
        case Defaulted():
            return _defaulted(expression)
        case Defined(target):
            wanted = compile_expression(target)
            return lambda rendering: not isinstance(wanted(rendering), Missing)
        case Each():
            return _each(expression)
        case Select():
            return _select(expression)
        case _:
            assert_never(expression)


def written(expression: Expression) -> str:
    """How an expression reads, as far as a message needs it."""
    match expression:
        case Read(name):
            return name
        case Index(target, Literal(key)):
            return f"{written(target)}.{key}"
        case Index(target, _):
            return f"{written(target)}[…]"
        case Literal(value):
            return to_text(value)
        case Filtered(target, name) | Tested(target, name):
            return f"{written(target)} | {name}"
        case _:
            return "…"


def text_of(value: JsonValue, rendering: Rendering) -> str:
    """Write a value into the output, within the budget."""
    if isinstance(value, list | dict):
        rendering.walk(value)
    text = to_text(value)
    rendering.write(len(text))
    return text


def _index(expression: Index) -> Evaluate:
    target, path = compile_expression(expression.target), written(expression.target)
    if isinstance(expression.key, Literal) and isinstance(expression.key.value, str):
        name = expression.key.value
        return lambda rendering: member(target(rendering), name, path)
    key = compile_expression(expression.key)

    def evaluate(rendering: Rendering) -> Value:
        wanted = require(key(rendering))
        if isinstance(wanted, bool) or not isinstance(wanted, str | int):
            raise TemplateError(f"{path!r} is indexed by {kind_of(wanted)}; a key is text, an index a whole number")
        return member(target(rendering), wanted, path)

    return evaluate


def _part(expression: Part) -> Evaluate:
    target, path = compile_expression(expression.target), written(expression.target)
    bounds = [
        compile_expression(part) if part else None for part in (expression.start, expression.stop, expression.step)
    ]

    def evaluate(rendering: Rendering) -> Value:
        value = require(target(rendering))
        if not isinstance(value, str | list):
            raise TemplateError(f"{path!r} is {kind_of(value)}; parts are taken of text and lists")
        numbers = [_bound(bound, rendering) for bound in bounds]
        if numbers[2] == 0:
            raise TemplateError(f"the step of a part of {path!r} is 0")
        rendering.work(1 + len(value) // (16 if isinstance(value, str) else 1))
        return value[slice(*numbers)]

    return evaluate


def _bound(bound: Evaluate | None, rendering: Rendering) -> int | None:
    value = require(bound(rendering)) if bound is not None else None
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise TemplateError(f"the bounds of a part are whole numbers, not {kind_of(value)}")


def _list(items: tuple[Expression, ...]) -> Evaluate:
    parts = [compile_expression(item) for item in items]
    return lambda rendering: [require(part(rendering)) for part in parts]


def _mapping(expression: MapOf) -> Evaluate:
    pairs = [(compile_expression(key), compile_expression(value)) for key, value in expression.pairs]

    def evaluate(rendering: Rendering) -> Value:
        result: JsonObject = {}
        for key, value in pairs:
            name = require(key(rendering))
            if not isinstance(name, str):
                raise TemplateError(f"a key is {kind_of(name)}; keys are text")
            result[name] = require(value(rendering))
        return result

    return evaluate


def _calculate(expression: Calculate) -> Evaluate:
    operator = expression.operator
    left, right = compile_expression(expression.left), compile_expression(expression.right)
    return lambda rendering: calculate(operator, require(left(rendering)), require(right(rendering)), rendering)


def _compare(expression: Compare) -> Evaluate:
    first = compile_expression(expression.first)
    rest = [(operator, compile_expression(operand)) for operator, operand in expression.rest]

    def evaluate(rendering: Rendering) -> Value:
        left = require(first(rendering))
        for operator, operand in rest:
            right = require(operand(rendering))
            if not compares(operator, left, right, rendering):
                return False
            left = right
        return True

    return evaluate


def _logic(expression: Both | Either | Not | Choice) -> Evaluate:
    match expression:
        case Both(left, right):
            first, second = compile_expression(left), compile_expression(right)
            return lambda rendering: second(rendering) if (value := require(first(rendering))) else value
        case Either(left, right):
            first, second = compile_expression(left), compile_expression(right)
            return lambda rendering: value if (value := require(first(rendering))) else second(rendering)
        case Not(operand):
            inner = compile_expression(operand)
            return lambda rendering: not require(inner(rendering))
        case Choice(condition, yes, no):
            test, chosen = compile_expression(condition), compile_expression(yes)
            # As in `{{ ", " if more }}`: whoever writes a condition without `else` means nothing otherwise.
            other = compile_expression(no if no is not None else Literal(""))
            return lambda rendering: chosen(rendering) if require(test(rendering)) else other(rendering)
        case _:
            assert_never(expression)


def _join(parts: tuple[Expression, ...]) -> Evaluate:
    pieces = [compile_expression(part) for part in parts]
    return lambda rendering: "".join([text_of(require(piece(rendering)), rendering) for piece in pieces])


def _call(expression: Filtered | Tested) -> Evaluate:
    operation = (FILTERS if isinstance(expression, Filtered) else TEST_TABLE)[expression.name]
    target = compile_expression(expression.target)
    bind = _arguments(operation, expression.arguments)
    name, apply = expression.name, operation.apply
    return lambda rendering: apply(Call(name, rendering, require(target(rendering)), bind(rendering)))


def _arguments(
    operation: Operation, arguments: tuple[Expression | None, ...]
) -> Callable[[Rendering], dict[str, JsonValue]]:
    names = (*operation.parameters, "more")
    given = [(name, compile_expression(part)) for name, part in zip(names, arguments, strict=False) if part is not None]
    return lambda rendering: {name: require(part(rendering)) for name, part in given}


def _defaulted(expression: Defaulted) -> Evaluate:
    target = compile_expression(expression.target)
    fallback = compile_expression(expression.fallback or Literal(""))
    falsy = compile_expression(expression.falsy or Literal(False))

    def evaluate(rendering: Rendering) -> Value:
        value = target(rendering)
        if isinstance(value, Missing) or (not value and require(falsy(rendering))):
            return fallback(rendering)
        return value

    return evaluate


def _items_of(value: JsonValue, name: str, rendering: Rendering) -> list[JsonValue]:
    return Call(name, rendering, value, {}).items


def _each(expression: Each) -> Evaluate:
    target = compile_expression(expression.target)
    if expression.name is None:
        return _each_attribute(expression, target)
    operation, name = FILTERS[expression.name], expression.name
    bind = _arguments(operation, expression.arguments)

    def evaluate(rendering: Rendering) -> Value:
        arguments = bind(rendering)
        items = _items_of(require(target(rendering)), "map", rendering)
        return [operation.apply(Call(name, rendering, item, arguments)) for item in items]

    return evaluate


def _each_attribute(expression: Each, target: Evaluate) -> Evaluate:
    attribute = compile_expression(expression.attribute or Literal(None))
    fallback = compile_expression(expression.fallback) if expression.fallback is not None else None

    def evaluate(rendering: Rendering) -> Value:
        path = require(attribute(rendering))
        call = Call("map", rendering, require(target(rendering)), {})
        found = [reach(item, path, call.fail) for item in call.items]
        if fallback is None:
            return [require(value) for value in found]
        other = require(fallback(rendering))
        return [other if isinstance(value, Missing) else value for value in found]

    return evaluate


def _select(expression: Select) -> Evaluate:
    target = compile_expression(expression.target)
    attribute = compile_expression(expression.attribute) if expression.attribute is not None else None
    operation = TEST_TABLE[expression.name] if expression.name is not None else None
    bind = _arguments(operation, expression.arguments) if operation is not None else None
    name, keep = expression.name or "select", expression.keep

    def evaluate(rendering: Rendering) -> Value:
        call = Call(name, rendering, require(target(rendering)), {})
        arguments = bind(rendering) if bind is not None else {}
        path = require(attribute(rendering)) if attribute is not None else None
        kept: list[JsonValue] = []
        for item in call.items:
            value = item if attribute is None else call.attribute_of(item, path)
            passes = operation.apply(Call(name, rendering, value, arguments)) if operation is not None else value
            if bool(passes) is keep:
                kept.append(item)
        return kept

    return evaluate
