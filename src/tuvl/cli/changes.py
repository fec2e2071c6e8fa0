"""`tuvl validate --changed-since REF`: which files a change touches."""

import os
from collections.abc import Iterator
from pathlib import Path

from tuvl.check.touched import touched_files
from tuvl.cli.git import changed_paths, commit_of, old_texts, passed_over, top_of
from tuvl.project.index import ProjectIndex


def touched_since(index: ProjectIndex, ref: str) -> frozenset[str]:
    """Return the files of a project that the change since a commit touches; raises `UsageError` without an answer."""
    commit = commit_of(index.root, ref)
    changed = {index.root / name: old for name, old in _changed(index.root, commit)}
    # What documents use may lie beside the project, or be what a link in it leads to.
    top, root = top_of(index.root), Path(os.path.realpath(index.root))
    changed |= {top / name: old for name, old in _changed(top, commit) if root not in (top / name).parents}
    return touched_files(index, {**dict(_passed_over(index, commit)), **changed})


def _passed_over(index: ProjectIndex, commit: str) -> Iterator[tuple[Path, bytes | None]]:
    """Yield the files of the project that differ although git does not say so: it ignores them, or was told to."""
    nodes = index.folder("nodes")
    paths = {path for path in (*index.paths, *nodes.rglob("*.py")) if index.root in path.parents}
    names = passed_over(index.root, [path.relative_to(index.root).as_posix() for path in sorted(paths)])
    before = old_texts(index.root, commit, names)
    for name in names:
        path = index.root / name
        if path.is_file() and path.read_bytes() != before.get(name):
            yield path, before.get(name)


def _changed(folder: Path, commit: str) -> Iterator[tuple[str, bytes | None]]:
    names = changed_paths(folder, commit)
    before = old_texts(folder, commit, names)
    return ((name, before.get(name)) for name in names)
