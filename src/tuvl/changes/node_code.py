"""The code of one Python node, and what it uses of its file and of others: only that can change what it does."""

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from tuvl.analysis.node_modules import imported
from tuvl.analysis.nodes import NodeFacts, read_node_file
from tuvl.changes.node_reads import may_read_any
from tuvl.changes.python_form import handed_on, is_text, plain
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.project.index import ProjectIndex
from tuvl.project.loading import display_name, read_file
from tuvl.project.node_files import code_files


@dataclass(frozen=True, slots=True)
class NodeCode:
    """Code as it is compared, in its plain form."""

    function: str
    """The function itself."""
    used: tuple[str, ...]
    """What it uses of the file, and what that uses; whatever runs when the file is loaded and gives no name counts."""
    module: str
    """The whole file."""
    written: str
    """The whole file with its docstrings and the names of its variables."""
    reads_any: bool
    """Whether it may read keys that no code names."""


@dataclass(frozen=True, slots=True)
class FileCode:
    """A file as it is compared: in its plain form, and as it is written, comments and layout aside."""

    plain: str
    written: str


@dataclass(frozen=True, slots=True)
class _Plain:
    """One file, taken apart."""

    tree: ast.Module
    dumped: str
    written: str


@lru_cache(maxsize=128)
def _plain(text: str | bytes, handed: frozenset[str] = frozenset()) -> _Plain:
    """Take a file apart; names that others hand on are `handed`."""
    tree = ast.parse(text)
    written = ast.dump(tree)
    tree = plain(tree, handed_on(tree) | handed)
    return _Plain(tree, ast.dump(tree), written)


def code_of(text: str, name: str) -> NodeCode | None:
    """Return the code of a node; `None` where the file cannot be read as Python, or does not declare it plainly."""
    line = next((node.line for node in read_node_file(text, file="").nodes if node.name == name), None)
    try:
        file = _plain(text)
        tree = file.tree
        function = next((part for part in tree.body if line is not None and line in _lines(part)), None)
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return None
        used, reads_any = _used(tree, function), may_read_any(tree, function)
        return NodeCode(ast.dump(function), used, file.dumped, file.written, reads_any)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def imported_code(index: ProjectIndex, node: NodeFacts) -> Mapping[str, FileCode]:
    """Return the code of the files of the nodes' folder that the file of a node imports."""
    folder = index.folder("nodes")
    sources = {path.relative_to(folder).as_posix(): path for path in code_files(folder)}
    start = next((name for name, path in sources.items() if display_name(path) == node.file), None)
    raw = {name: _read(path) for name, path in sources.items()} if start is not None else {}
    names = sorted(imported(raw, start or ""))
    handed = frozenset[str]().union(*(_handed(raw[name]) for name in (*names, start or "") if name in raw))
    return {name: _file_code(raw[name], handed) for name in names}


def _read(path: Path) -> bytes:
    try:
        return read_file(path)
    except UsageError:
        return b""


@lru_cache(maxsize=128)
def _handed(raw: bytes) -> frozenset[str]:
    try:
        return handed_on(ast.parse(raw))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()


def _file_code(raw: bytes, handed: frozenset[str]) -> FileCode:
    try:
        file = _plain(raw, handed)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        text = raw.decode("utf-8", "replace")
        return FileCode(text, text)
    return FileCode(file.dumped, file.written)


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
        if not names and part is not function and not is_text(part):
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
