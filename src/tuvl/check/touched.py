"""Which files of a project a change touches: those that changed, and those that use what they define, transitively."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tuvl.analysis.language_models import default_model
from tuvl.analysis.node_modules import importers
from tuvl.analysis.nodes import read_node_file
from tuvl.check.uses import NODE, Named, defines, file_at, uses
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import MISSPELT_FILE, PROJECT_FILE, YAML_SUFFIXES, is_prose
from tuvl.project.loading import display_name, parse_markdown, parse_yaml
from tuvl.project.pyproject import FILE as PYPROJECT

_WHOLE_PROJECT = frozenset({PROJECT_FILE, MISSPELT_FILE, PYPROJECT})


def touched_files(index: ProjectIndex, before: Mapping[Path, bytes | None]) -> frozenset[str]:
    """Return the files a change touches, as messages call them.

    `before` holds what changed, in the project and around it: path → what the file held before, `None` for a new one.
    A change of the project's configuration touches everything.
    """
    changed = {display_name(path) for path in before if _is_in(path, index.root)}
    links = dict(_links(index, before))
    if any(path.parent == index.root and path.name in _WHOLE_PROJECT for path in (*before, *links)):
        return frozenset(changed | {display_name(path) for path in index.paths})
    together = {**before, **links}
    names = {name for path, old in together.items() for name in _defined(path, old, index)}
    names |= {(NODE, node) for node in _nodes_of_importers(index, together)}
    return frozenset(changed | {display_name(path) for path in links} | _users(index, names))


def _links(index: ProjectIndex, before: Mapping[Path, bytes | None]) -> Iterator[tuple[Path, bytes | None]]:
    """Yield the files of a project that are links to something that changed, and what that held before."""
    real = {os.path.realpath(path): old for path, old in before.items()}
    config = [index.root / name for name in _WHOLE_PROJECT]
    for path in (*index.paths, *_python(index.folder("nodes")), *config):
        at = os.path.realpath(path)
        if path not in before and at in real:
            yield path, real[at]


def _python(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*.py"):
        if not any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(folder).parts):
            yield path


def _nodes_of_importers(index: ProjectIndex, before: Mapping[Path, bytes | None]) -> Iterator[str]:
    """Yield the nodes of the Python files that import one that changed."""
    folder = index.folder("nodes")
    changed = [path.relative_to(folder).as_posix() for path in before if path.suffix == ".py" and _is_in(path, folder)]
    if not changed:
        return
    sources = {path.relative_to(folder).as_posix(): path.read_bytes() for path in _python(folder) if path.is_file()}
    for name in importers(sources, changed):
        yield from _nodes(sources.get(name, b""))


def _is_in(path: Path, folder: Path) -> bool:
    return folder in path.parents


def _users(index: ProjectIndex, names: set[Named]) -> set[str]:
    """Return the files that use one of the names, or something that a file that does defines."""
    default = default_model(index)
    users: dict[Named, list[str]] = {}
    defined: dict[str, tuple[Named, ...]] = {}
    for path in index.paths:
        loaded = index.load(path)
        if loaded is not None:
            defined[loaded.file] = tuple(defines(loaded))
            for name in uses(loaded, default):
                users.setdefault(name, []).append(loaded.file)
        index.shed()
    found: set[str] = set()
    pending = list(names)
    while pending:
        for file in users.get(pending.pop(), ()):
            if file not in found:
                found.add(file)
                pending.extend(defined[file])
    return found


def _defined(path: Path, old: bytes | None, index: ProjectIndex) -> Iterable[Named]:
    """Yield what a file that changed defined before, and what it defines now: itself in any case."""
    yield file_at(path)
    if path.suffix == ".py":
        now = path.read_bytes() if path.is_file() else None
        yield from ((NODE, node) for raw in (old, now) if raw is not None for node in _nodes(raw))
    elif path.suffix.lower() in YAML_SUFFIXES or is_prose(path):
        parse = parse_markdown if is_prose(path) else parse_yaml
        versions = [parse(path, old) if old is not None else None, index.load(path) if path.is_file() else None]
        yield from (name for loaded in versions if loaded is not None for name in defines(loaded))


def _nodes(raw: bytes) -> Iterator[str]:
    return (node.name for node in read_node_file(raw.decode("utf-8", "replace"), file="").nodes)
