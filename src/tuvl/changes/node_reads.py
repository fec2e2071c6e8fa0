"""Whether a node says by name which keys of the context it reads, or looks at others as well."""

import ast
from collections.abc import Iterator

_BY_NAME = frozenset({"get", "pop", "setdefault"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def may_read_any(tree: ast.Module, function: _Function) -> bool:
    """Whether a node may read keys that its code does not name: all of them, or one that it makes up."""
    named = frozenset(_named(tree))
    functions = {each.name: each for each in tree.body if isinstance(each, _Function)}
    waiting: list[tuple[_Function, int]] = [(function, 0)]
    seen: set[tuple[str, int]] = set()
    while waiting:
        part, number = waiting.pop()
        given = [*part.args.posonlyargs, *part.args.args]
        if number >= len(given):
            if number or part.args.vararg or part.args.kwarg:
                return True
            continue
        if (part.name, number) in seen:
            continue
        seen.add((part.name, number))
        plain = {id(name) for name in _plain_uses(part, named)}
        handed = {id(name): target for name, target in _handed(part, functions)}
        for each in ast.walk(part):
            if not isinstance(each, ast.Name) or each.id != given[number].arg or id(each) in plain:
                continue
            if id(each) not in handed:
                return True
            waiting.append(handed[id(each)])
    return False


def _named(tree: ast.Module) -> Iterator[str]:
    """Names that the file gives a text, or takes from another, so that the text stands in the code."""
    for part in tree.body:
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant):
            yield from (target.id for target in part.targets if isinstance(target, ast.Name))
        elif isinstance(part, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in part.names)


def _plain_uses(function: _Function, named: frozenset[str]) -> Iterator[ast.expr]:
    """Whatever one key is read of, or written to, that the code names."""
    for each in ast.walk(function):
        match each:
            case ast.Subscript(value=value, slice=key) if _is_named(key, named):
                yield value
            case ast.Call(func=ast.Attribute(value=value, attr=attr), args=[key, *_]) if attr in _BY_NAME:
                if _is_named(key, named):
                    yield value
            case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[value]) if _is_named(key, named):
                yield value


def _is_named(key: ast.expr, named: frozenset[str]) -> bool:
    return isinstance(key, ast.Constant) or (isinstance(key, ast.Name) and key.id in named)


def _handed(function: _Function, functions: dict[str, _Function]) -> Iterator[tuple[ast.expr, tuple[_Function, int]]]:
    """Names that are given to another function of the file, each with it and which of its parameters that is."""
    for each in ast.walk(function):
        if not isinstance(each, ast.Call) or not isinstance(each.func, ast.Name) or each.func.id not in functions:
            continue
        for number, value in enumerate(each.args):
            if isinstance(value, ast.Starred):
                break
            yield value, (functions[each.func.id], number)
