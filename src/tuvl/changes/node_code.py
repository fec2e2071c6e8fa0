"""The code of one Python node, and what it uses of its file and of others: only that can change what it does."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tuvl.analysis.node_modules import imported
from tuvl.analysis.nodes import NodeFacts, read_node_file
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.project.index import ProjectIndex
from tuvl.project.loading import display_name, read_file
from tuvl.project.node_files import code_files


@dataclass(frozen=True, slots=True)
class NodeCode:
    """Code as it is compared, without comments and layout."""

    function: str
    """The function itself."""
    used: tuple[str, ...]
    """What it uses of the file, and what that uses; whatever runs when the file is loaded and gives no name counts."""
    module: str
    """The whole file."""


def code_of(text: str, name: str) -> NodeCode | None:
    """Return the code of a node; `None` where the file cannot be read as Python, or does not declare it plainly."""
    line = next((node.line for node in read_node_file(text, file="").nodes if node.name == name), None)
    try:
        tree = ast.parse(text)
        function = next((part for part in tree.body if line is not None and line in _lines(part)), None)
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return None
        return NodeCode(ast.dump(function), _used(tree, function), ast.dump(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def imported_code(index: ProjectIndex, node: NodeFacts) -> Mapping[str, str]:
    """Return the code, comments and layout aside, of the files of the nodes' folder that the file of a node imports."""
    folder = index.folder("nodes")
    sources = {path.relative_to(folder).as_posix(): path for path in code_files(folder)}
    start = next((name for name, path in sources.items() if display_name(path) == node.file), None)
    raw = {name: _read(path) for name, path in sources.items()} if start is not None else {}
    return {name: _dumped(raw[name]) for name in sorted(imported(raw, start or ""))}


def _read(path: Path) -> bytes:
    try:
        return read_file(path)
    except UsageError:
        return b""


def _dumped(raw: bytes) -> str:
    try:
        return ast.dump(ast.parse(raw))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return raw.decode("utf-8", "replace")


def _lines(part: ast.stmt) -> range:
    decorators = part.decorator_list if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) else []
    first = min([part.lineno, *(each.lineno for each in decorators)])
    return range(first, (part.end_lineno or part.lineno) + 1)


def _used(tree: ast.Module, function: ast.stmt) -> tuple[str, ...]:
    named: dict[str, list[ast.stmt]] = {}
    waiting: list[ast.stmt] = [function]
    for part in tree.body:
        names = [] if part is function else list(_bound(part))
        for name in names:
            named.setdefault(name, []).append(part)
        if not names and part is not function and not _is_text(part):
            waiting.append(part)
    seen: dict[int, ast.stmt] = {}
    while waiting:
        part = waiting.pop()
        if id(part) not in seen:
            seen[id(part)] = part
            waiting += [each for name in _loaded(part) for each in named.get(name, ())]
    # In the order of the file: the last one of a name counts, and statements run one after the other.
    return tuple(ast.dump(part) for part in tree.body if id(part) in seen and part is not function)


def _bound(part: ast.stmt) -> Iterator[str]:
    """Names that a statement of the file gives something, and does nothing else."""
    if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield part.name
    elif isinstance(part, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in part.names if alias.name != "*")
    elif isinstance(part, ast.Assign):
        yield from (target.id for target in part.targets if isinstance(target, ast.Name))
    elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
        yield part.target.id


def _loaded(part: ast.stmt) -> Iterator[str]:
    return (each.id for each in ast.walk(part) if isinstance(each, ast.Name))


def _is_text(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
