"""Words of texts by which something may look variables of a function up, as some libraries do for those of a query."""

import ast
import builtins
import re
from collections.abc import Iterator, Mapping

_WORD = re.compile(r"\w+")
_BY_KEY = frozenset({"get", "pop", "setdefault"})
_LOGGING = frozenset({"debug", "info", "warning", "error", "exception", "critical"})
_LEAVING = (ast.Raise, ast.Return, ast.Expr, ast.If, ast.While, ast.Assert, ast.Match)
"""Statements whose texts no other statement of the function gets hold of."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def words_looked_up(function: _Function, taken: frozenset[str]) -> set[str]:
    """Words of the texts of a function that something else may read; `taken` are names that the file gives a meaning.

    Keys, what is held against others, messages of failures and logs, and what the function gives back are read by
    nothing that sees its variables.
    """
    above = dict(_parents(function))
    known = frozenset(dir(builtins)) - taken
    found: set[str] = set()
    for statement in function.body:  # a decorator is handed its texts where no variable is yet
        for each in ast.walk(statement):
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                found.update(_WORD.findall(each.value) if _may_be_handed(each, function, above, known) else ())
    return found


def _parents(part: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    for each in ast.walk(part):
        for child in ast.iter_child_nodes(each):
            yield child, each


def _may_be_handed(text: ast.AST, function: _Function, above: Mapping[ast.AST, ast.AST], known: frozenset[str]) -> bool:
    """Whether a text, or one that it is a part of, may come to other code while the function runs."""
    part = text
    while (parent := above.get(part)) is not None:
        if _is_key(part, parent):
            return False
        if isinstance(parent, ast.Call) and part is not parent.func and not _is_plain(parent.func, known):
            return True
        if isinstance(parent, ast.stmt):
            inside = above.get(parent)
            while isinstance(parent, ast.Return) and inside is not None and not isinstance(inside, _Function):
                inside = above.get(inside)
            return not isinstance(parent, _LEAVING) or (isinstance(parent, ast.Return) and inside is not function)
        if isinstance(parent, ast.Lambda | ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await | ast.comprehension):
            return True
        part = parent
    return True


def _is_key(part: ast.AST, parent: ast.AST) -> bool:
    """Whether a text is only held against others: the key of a mapping, one side of a comparison."""
    match parent:
        case ast.Subscript(slice=key):
            return part is key
        case ast.Dict(keys=keys):
            return any(part is key for key in keys)
        case ast.Call(func=ast.Attribute(attr=attr), args=[first, *_]) if attr in _BY_KEY:
            return part is first
        case ast.Compare():
            return True
        case _:
            return False


def _is_plain(called: ast.expr, known: frozenset[str]) -> bool:
    """Whether what is called comes with Python, or writes a log."""
    match called:
        case ast.Name(id=name):
            return name in known
        case ast.Attribute(attr=attr):
            return attr in _LOGGING or attr in _BY_KEY
        case _:
            return False
