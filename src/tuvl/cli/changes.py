"""`tuvl validate --changed-since REF`: which files a change touches."""

from pathlib import Path

from tuvl.check.touched import touched_files
from tuvl.cli.git import changed_paths, commit_of, old_texts
from tuvl.project.index import ProjectIndex


def touched_since(index: ProjectIndex, ref: str) -> frozenset[str]:
    """Return the files of a project that the change since a commit touches; raises `UsageError` without an answer."""
    commit = commit_of(index.root, ref)
    names = changed_paths(index.root, commit)
    before = old_texts(index.root, commit, names)
    changed: dict[Path, bytes | None] = {index.root / name: before.get(name) for name in names}
    return touched_files(index, changed)
