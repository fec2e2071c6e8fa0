"""Which statements of a Python file run when it is imported, and which of its functions are still there afterwards."""

import ast
from collections.abc import Iterator

from tuvl.dataclass import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class ModuleLevel:
    """The statements outside of functions and classes, those inside `if`, `try`, `with` and loops included."""

    run: tuple[ast.stmt, ...]
    """Those that may run on import, in order."""
    dead: frozenset[ast.stmt]
    """Those behind a condition that is never true on import."""
    lost: frozenset[ast.stmt]
    """Functions whose name means something else in the end, so that nothing leads to them."""


def module_level(tree: ast.Module) -> ModuleLevel:
    """Look at a file from above; what depends on more than its text may run."""
    run: list[ast.stmt] = []
    dead: set[ast.stmt] = set()
    waiting = [(statement, True) for statement in reversed(tree.body)]
    while waiting:
        statement, alive = waiting.pop()
        if alive:
            run.append(statement)
        else:
            dead.add(statement)
        never = _never_run(statement)
        waiting.extend((inner, alive and inner not in never) for inner in reversed(list(_inside(statement))))
    return ModuleLevel(tuple(run), frozenset(dead), frozenset(_lost(tree.body)))


def _inside(statement: ast.stmt) -> Iterator[ast.stmt]:
    if isinstance(statement, Function | ast.ClassDef):
        return
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from child.body


def _never_run(statement: ast.stmt) -> frozenset[ast.stmt]:
    if not isinstance(statement, ast.If | ast.While):
        return frozenset()
    holds = _constant(statement.test)
    return frozenset() if holds is None else frozenset(statement.orelse if holds else statement.body)


def _constant(test: ast.expr) -> bool | None:
    """Whether a condition always holds on import, or never; `None` when its text does not tell."""
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return False
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _constant(operand)
            return None if inner is None else not inner
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]):
            return False
        case _:
            return None


def _lost(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Functions of the top level whose name is bound again there, with no other name for them in between."""
    standing: dict[str, ast.stmt] = {}
    for statement in body:
        for name in _named_otherwise(statement):
            standing.pop(name, None)
        for name in _bound(statement):
            if name in standing:
                yield standing.pop(name)
        if isinstance(statement, Function):
            standing[statement.name] = statement


def _named_otherwise(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement reads: whatever they mean may be kept under another one."""
    return (part.id for part in ast.walk(statement) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load))


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement of the top level gives another meaning, or none."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name.split(".")[0] for alias in names)
        case _:
            return
