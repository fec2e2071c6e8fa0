"""Checks many files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tuvl.check.one_file import FileResult, check_file
from tuvl.project.index import ProjectIndex


def check_many(index: ProjectIndex, paths: Sequence[Path]) -> Iterator[FileResult]:
    """Check the files of a project, in order; those that cannot be read are noted in the index."""
    for path in paths:
        loaded = index.load(path)
        if loaded is not None:
            yield check_file(loaded, index, named=False)
