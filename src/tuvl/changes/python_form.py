"""Python code as it is compared: without comments, layout and docstrings, and whatever its variables are called.

Only what nothing else can see is left out: a docstring that may be read, or a name that something outside the function
may use, stays.
"""

import ast
import symtable
from collections.abc import Iterator
from copy import copy

from tuvl.changes.python_words import words_looked_up

_DOC_READERS = frozenset({"__doc__", "getdoc", "getsource", "getcomments", "getsourcelines", "doctest", "help"})
_NAME_READERS = frozenset({"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack", "tb_frame"})
_NODE = "node"
"""The decorator of nodes, which reads no docstring."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def plain(tree: ast.Module, handed_on: frozenset[str]) -> ast.Module:
    """Rewrite a file in its plain form; `handed_on` are names whose docstrings somebody may read."""
    said = set(_said(tree))
    if not said & _DOC_READERS:
        _without_texts(tree, handed_on)
    if not said & _NAME_READERS:
        taken = frozenset(_taken(tree))
        for function in _outermost(tree):
            _numbered(function, taken)
    return tree


def handed_on(tree: ast.Module) -> frozenset[str]:
    """Names that are not only called: what takes them may read whatever stands in them."""
    called = {id(each.func) for each in ast.walk(tree) if isinstance(each, ast.Call)}
    found: set[str] = set()
    for each in ast.walk(tree):
        if isinstance(each, ast.Name) and id(each) not in called:
            found.add(each.id)
        elif isinstance(each, ast.Attribute) and id(each) not in called:
            found.add(each.attr)
    return frozenset(found)


def _said(tree: ast.Module) -> Iterator[str]:
    for each in ast.walk(tree):
        match each:
            case ast.Name():
                yield each.id
            case ast.Attribute():
                yield each.attr
            case ast.alias():
                yield from each.name.split(".")
            case ast.Constant(value=str() as text) if text.isidentifier():
                yield text


# ---- docstrings ---------------------------------------------------------------------------------------------------


def _without_texts(part: ast.Module | _Function, handed_on: frozenset[str]) -> None:
    """Take out statements that are nothing but a text; what stands in classes stays, since their users may look."""
    for each in _inside(part):
        if isinstance(each, _Function):
            _without_texts(each, handed_on)
    keeps = isinstance(part, _Function) and (part.name in handed_on or not all(map(_is_node, part.decorator_list)))
    body = [each for index, each in enumerate(part.body) if not is_text(each) or (keeps and not index)]
    part.body = body if body or isinstance(part, ast.Module) else [ast.Pass()]


def _inside(part: ast.AST) -> Iterator[ast.stmt]:
    """Statements at any depth, those inside of functions and classes apart."""
    for each in ast.iter_child_nodes(part):
        if isinstance(each, ast.stmt):
            yield each
        if not isinstance(each, _Function | ast.ClassDef | ast.expr):
            yield from _inside(each)


def _is_node(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (isinstance(called, ast.Name) and called.id == _NODE) or (
        isinstance(called, ast.Attribute) and called.attr == _NODE
    )


def is_text(part: ast.stmt) -> bool:
    """Whether a statement is a text and does nothing."""
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


# ---- names of variables ---------------------------------------------------------------------------------------------


def _outermost(tree: ast.AST) -> Iterator[_Function]:
    """Functions that are in no other, the methods of classes among them."""
    for each in ast.iter_child_nodes(tree):
        if isinstance(each, _Function):
            yield each
        else:
            yield from _outermost(each)


def _taken(tree: ast.Module) -> Iterator[str]:
    """Names that a file gives something, wherever in it."""
    for each in ast.walk(tree):
        match each:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=asname):
                yield asname or name.partition(".")[0]


def _numbered(function: _Function, taken: frozenset[str]) -> None:
    """Give the variables of a function numbers, in the order in which they come."""
    own = _own_names(function, taken)
    numbers: dict[str, str] = {}

    def number(name: str) -> str:
        return numbers.setdefault(name, f"#{len(numbers)}") if name in own else name

    for statement in function.body:
        for each in ast.walk(statement):
            match each:
                case ast.Name():
                    each.id = number(each.id)
                case ast.ExceptHandler(name=str()) | ast.MatchAs(name=str()) | ast.MatchStar(name=str()):
                    each.name = number(str(each.name))
                case ast.MatchMapping(rest=str()):
                    each.rest = number(str(each.rest))
                case ast.Nonlocal():
                    each.names = [number(name) for name in each.names]


def _own_names(function: _Function, taken: frozenset[str]) -> frozenset[str]:
    """Names that are variables of the function, or of one inside, wherever they stand in it, and nothing else."""
    alone = copy(function)
    alone.decorator_list, alone.returns = [], None
    text = ast.unparse(ast.fix_missing_locations(ast.Module(body=[alone], type_ignores=[])))
    tables = list(_below(symtable.symtable(text, "", "exec")))
    found: set[str] = set()
    others: set[str] = set()
    for table in tables:
        for symbol in table.get_symbols():
            name = symbol.get_name()
            outside = symbol.is_global() or symbol.is_parameter() or symbol.is_imported() or symbol.is_namespace()
            if outside or table.get_type() != "function" or name.startswith("__"):
                others.add(name)
            elif symbol.is_local():
                found.add(name)
    return frozenset(found - others - words_looked_up(function, taken))


def _below(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _below(child)
