"""Custom nodes, read from the syntax tree of `nodes/*.py`; the files are never imported."""

import ast
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from tuvl.analysis.module_level import Function, module_level
from tuvl.dataclass import dataclass

NodeEffects: TypeAlias = Literal["read", "write"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """What `@node(...)` says of one function; `None` where it says nothing, or nothing that can be read."""

    name: str
    file: str
    line: int
    reads: tuple[str, ...] | None = None
    writes: tuple[str, ...] | None = None
    signals: tuple[str, ...] | None = None
    effects: NodeEffects | None = None
    is_async: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProblem:
    """Something in a node file that keeps its nodes from being known; lines and columns count from 1."""

    file: str
    line: int
    column: int
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFile:
    """The nodes one file declares, in its order, and what is wrong with it."""

    nodes: tuple[NodeFacts, ...] = ()
    problems: tuple[NodeProblem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """How this file calls the decorator: its local names, and the local names of the module `tuvl`."""

    decorators: frozenset[str]
    modules: frozenset[str]


def read_node_file(source: str, *, file: str) -> NodeFile:
    """Read the nodes a Python file declares, from its syntax alone.

    A file that does not parse gives no nodes and one problem. Arguments that are not literals (or names of literal
    constants of the same file) count as unknown; a node whose *name* is not readable is a problem.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        problem = NodeProblem(
            file=file,
            line=error.lineno or 1,
            column=error.offset or 1,
            message=f"{file!r} does not parse: {error.msg}",
            hint="mend the file; until then none of its nodes is known",
        )
        return NodeFile(problems=(problem,))
    except (ValueError, RecursionError, MemoryError) as error:  # a null byte, or nesting past the parser's stack
        problem = NodeProblem(file=file, line=1, column=1, message=f"{file!r} cannot be read as Python: {error}")
        return NodeFile(problems=(problem,))
    return _nodes_of(tree, file)


def _nodes_of(tree: ast.Module, file: str) -> NodeFile:
    level = module_level(tree)
    names = _decorator_names(level.run)
    constants = _constants(level.run)
    found: dict[str, NodeFacts] = {}
    problems: list[NodeProblem] = []
    for statement in (*level.run, *sorted(level.dead, key=lambda each: each.lineno)):
        if not isinstance(statement, Function):
            continue
        for decorator in statement.decorator_list:
            facts = _declaration(decorator, statement, names, constants, file)
            if isinstance(facts, NodeProblem):
                problems.append(facts)
            elif facts is None:
                continue
            elif statement in level.dead:
                problems.append(_never_declared(facts, decorator))
            elif statement in level.lost:
                problems.append(_lost(facts, statement.name, decorator))
            elif facts.name in found:
                problems.append(_declared_twice(found[facts.name], facts, decorator))
            else:
                found[facts.name] = facts
    return NodeFile(nodes=tuple(found.values()), problems=tuple(problems))


def _decorator_names(statements: Sequence[ast.stmt]) -> _Names:
    decorators: set[str] = set()
    modules: set[str] = set()
    for statement in statements:
        if isinstance(statement, ast.ImportFrom) and statement.module in {"tuvl", "tuvl.node"} and not statement.level:
            decorators.update(alias.asname or alias.name for alias in statement.names if alias.name in {"node", "*"})
        elif isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == "tuvl" or (alias.name.startswith("tuvl.") and alias.asname is None):
                    modules.add(alias.asname or "tuvl")
    if "*" in decorators:
        decorators.add("node")
    return _Names(decorators=frozenset(decorators), modules=frozenset(modules))


def _constants(statements: Sequence[ast.stmt]) -> Mapping[str, object]:
    """Module constants with a literal value; a name that is bound twice is none."""
    values: dict[str, object] = {}
    bound: set[str] = set()
    for statement in statements:
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, value = [statement.target], statement.value
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                if target.id in bound:
                    values.pop(target.id, None)
                else:
                    values[target.id] = _literal(value, {})
                bound.add(target.id)
    return values


def _literal(value: ast.expr, constants: Mapping[str, object]) -> object:
    """The value of a literal, or of a constant's name; `None` for everything else."""
    if isinstance(value, ast.Name):
        return constants.get(value.id)
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return [_literal(item, constants) for item in value.elts]
    return value.value if isinstance(value, ast.Constant) else None


def _is_decorator(value: ast.expr, names: _Names) -> bool:
    if isinstance(value, ast.Name):
        return value.id in names.decorators
    if isinstance(value, ast.Attribute) and value.attr == "node":
        inner = value.value
        if isinstance(inner, ast.Attribute) and inner.attr == "node":
            inner = inner.value
        return isinstance(inner, ast.Name) and inner.id in names.modules
    return False


def _declaration(
    decorator: ast.expr, function: Function, names: _Names, constants: Mapping[str, object], file: str
) -> NodeFacts | NodeProblem | None:
    if _is_decorator(decorator, names):
        return NodeProblem(
            file=file,
            line=decorator.lineno,
            column=decorator.col_offset + 1,
            message=f"`@node` on {function.name!r} has no name",
            hint=f'write `@node("{function.name}")`',
        )
    if not isinstance(decorator, ast.Call) or not _is_decorator(decorator.func, names):
        return None
    given = {keyword.arg: _literal(keyword.value, constants) for keyword in decorator.keywords}
    name = _literal(decorator.args[0], constants) if decorator.args else given.get("name")
    if not isinstance(name, str) or not name:
        return NodeProblem(
            file=file,
            line=decorator.lineno,
            column=decorator.col_offset + 1,
            message=f"the name of the node {function.name!r} cannot be read without running the file",
            hint=f'write the name as text: `@node("{function.name}")`',
        )
    effects = given.get("effects")
    return NodeFacts(
        name=name,
        file=file,
        line=decorator.lineno,
        reads=_texts(given.get("reads")),
        writes=_texts(given.get("writes")),
        signals=_texts(given.get("signals")),
        effects=effects if effects in ("read", "write") else None,
        is_async=isinstance(function, ast.AsyncFunctionDef),
    )


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    texts = tuple(item for item in value if isinstance(item, str))
    return texts if len(texts) == len(value) else None


def _never_declared(facts: NodeFacts, decorator: ast.expr) -> NodeProblem:
    return NodeProblem(
        file=facts.file,
        line=facts.line,
        column=decorator.col_offset + 1,
        message=f"node {facts.name!r} is declared behind a condition that is never true when the file is imported",
        hint=f"move `@node({facts.name!r})` and its function to the top level of the file",
    )


def _lost(facts: NodeFacts, function: str, decorator: ast.expr) -> NodeProblem:
    return NodeProblem(
        file=facts.file,
        line=facts.line,
        column=decorator.col_offset + 1,
        message=f"node {facts.name!r} is lost: {function!r} means something else further down",
        hint="give one of the two another name",
    )


def _declared_twice(first: NodeFacts, second: NodeFacts, decorator: ast.expr) -> NodeProblem:
    return NodeProblem(
        file=second.file,
        line=second.line,
        column=decorator.col_offset + 1,
        message=f"node {second.name!r} is declared twice, first in line {first.line}",
        hint="give one of them another name",
    )
