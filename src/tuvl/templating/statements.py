"""Statements → functions that write a rendering's pieces."""

from collections.abc import Callable
from typing import TypeAlias, assert_never

from tuvl.errors import TemplateError
from tuvl.templating.budget import Rendering
from tuvl.templating.evaluate import Evaluate, compile_expression, text_of, written
from tuvl.templating.lookup import kind_of, require
from tuvl.templating.tree import Assign, Block, Branch, Capture, Emit, Loop, Statement, Text, With
from tuvl.values import JsonObject, JsonValue

Execute: TypeAlias = Callable[[Rendering, list[str]], None]


def compile_block(block: Block) -> Execute:
    """Compile statements; the function appends what they write to a list."""
    steps = [_compile(statement) for statement in block]
    if len(steps) == 1:
        return steps[0]

    def execute(rendering: Rendering, out: list[str]) -> None:
        for step in steps:
            step(rendering, out)

    return execute


def _compile(statement: Statement) -> Execute:
    match statement:
        case Text(text):
            return _text(text)
        case Emit(expression):
            return _emit(compile_expression(expression))
        case Branch():
            return _branch(statement)
        case Loop():
            return _loop(statement)
        case Assign():
            return _assign(statement)
        case Capture(target, body):
            return _capture(target, compile_block(body))
        case With(assigns, body):
            return _with([_assign(assign) for assign in assigns], compile_block(body))
        case _:
            assert_never(statement)


def _text(text: str) -> Execute:
    def execute(rendering: Rendering, out: list[str]) -> None:
        rendering.write(len(text))
        out.append(text)

    return execute


def _emit(evaluate: Evaluate) -> Execute:
    def execute(rendering: Rendering, out: list[str]) -> None:
        out.append(text_of(require(evaluate(rendering)), rendering))

    return execute


def _branch(statement: Branch) -> Execute:
    cases = [(compile_expression(test), compile_block(body)) for test, body in statement.cases]
    otherwise = compile_block(statement.otherwise)

    def execute(rendering: Rendering, out: list[str]) -> None:
        for test, body in cases:
            if require(test(rendering)):
                body(rendering, out)
                return
        otherwise(rendering, out)

    return execute


def _loop(statement: Loop) -> Execute:
    items, body, otherwise = (
        compile_expression(statement.items),
        compile_block(statement.body),
        compile_block(statement.otherwise),
    )
    test = compile_expression(statement.test) if statement.test is not None else None
    bind = _binder(statement.targets, unpack=statement.unpack)
    path, uses_loop, weight = written(statement.items), statement.uses_loop, statement.weight

    def execute(rendering: Rendering, out: list[str]) -> None:
        values = _iterable(require(items(rendering)), path)
        outer = rendering.scope
        try:
            if test is not None:
                values = [value for value in values if _passes(value, outer, rendering, bind, test, weight)]
            for index, value in enumerate(values):
                rendering.work(1 + weight + len(outer))
                rendering.scope = dict(outer)
                bind(rendering.scope, value)
                if uses_loop:
                    rendering.scope["loop"] = _loop_values(values, index)
                body(rendering, out)
        finally:
            rendering.scope = outer
        if not values:
            otherwise(rendering, out)

    return execute


def _passes(
    value: JsonValue,
    outer: dict[str, JsonValue],
    rendering: Rendering,
    bind: Callable[[dict[str, JsonValue], JsonValue], None],
    test: Evaluate,
    weight: int,
) -> bool:
    rendering.work(1 + weight + len(outer))
    rendering.scope = dict(outer)
    bind(rendering.scope, value)
    return bool(require(test(rendering)))


def _iterable(value: JsonValue, path: str) -> list[JsonValue]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return list(value)
    raise TemplateError(f"{path!r} is {kind_of(value)}; `for` takes a list or a mapping")


def _loop_values(values: list[JsonValue], index: int) -> JsonObject:
    length = len(values)
    loop: JsonObject = {
        "index": index + 1,
        "index0": index,
        "revindex": length - index,
        "revindex0": length - index - 1,
        "first": index == 0,
        "last": index == length - 1,
        "length": length,
    }
    if index > 0:
        loop["previtem"] = values[index - 1]
    if index < length - 1:
        loop["nextitem"] = values[index + 1]
    return loop


def _binder(targets: tuple[str, ...], *, unpack: bool) -> Callable[[dict[str, JsonValue], JsonValue], None]:
    if not unpack:
        name = targets[0]

        def bind_one(scope: dict[str, JsonValue], value: JsonValue) -> None:
            scope[name] = value

        return bind_one

    def bind(scope: dict[str, JsonValue], value: JsonValue) -> None:
        if not isinstance(value, list) or len(value) != len(targets):
            found = f"a list of {len(value)}" if isinstance(value, list) else kind_of(value)
            raise TemplateError(f"{', '.join(targets)} need a list of {len(targets)} values, not {found}")
        scope.update(zip(targets, value, strict=True))

    return bind


def _assign(statement: Assign) -> Execute:
    evaluate = compile_expression(statement.expression)
    bind = _binder(statement.targets, unpack=statement.unpack)

    def execute(rendering: Rendering, out: list[str]) -> None:
        bind(rendering.scope, require(evaluate(rendering)))

    return execute


def _capture(target: str, body: Execute) -> Execute:
    def execute(rendering: Rendering, out: list[str]) -> None:
        outer, pieces = rendering.scope, list[str]()
        rendering.scope = dict(outer)
        try:
            body(rendering, pieces)
        finally:
            rendering.scope = outer
        outer[target] = "".join(pieces)

    return execute


def _with(assigns: list[Execute], body: Execute) -> Execute:
    def execute(rendering: Rendering, out: list[str]) -> None:
        outer = rendering.scope
        rendering.scope = dict(outer)
        try:
            for assign in assigns:
                assign(rendering, out)
            body(rendering, out)
        finally:
            rendering.scope = outer

    return execute
