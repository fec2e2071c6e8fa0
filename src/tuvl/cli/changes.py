"""`tuvl validate --changed-since REF`: which files a change touches."""

import os
from collections.abc import Iterator
from pathlib import Path

from tuvl.check.touched import touched_files
from tuvl.cli.git import changed_paths, commit_of, old_texts, top_of
from tuvl.project.index import ProjectIndex


def touched_since(index: ProjectIndex, ref: str) -> frozenset[str]:
    """Return the files of a project that the change since a commit touches; raises `UsageError` without an answer."""
    commit = commit_of(index.root, ref)
    changed = {index.root / name: old for name, old in _changed(index.root, commit)}
    # What documents use may lie beside the project, or be what a link in it leads to.
    top, root = top_of(index.root), Path(os.path.realpath(index.root))
    changed |= {top / name: old for name, old in _changed(top, commit) if root not in (top / name).parents}
    return touched_files(index, changed)


def _changed(folder: Path, commit: str) -> Iterator[tuple[str, bytes | None]]:
    names = changed_paths(folder, commit)
    before = old_texts(folder, commit, names)
    return ((name, before.get(name)) for name in names)
