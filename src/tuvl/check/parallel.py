"""Checks many files, in several processes when there are enough of them to pay for it."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from tuvl.check.one_file import FileResult, check_file
from tuvl.dataclass import dataclass
from tuvl.project.index import ProjectIndex
from tuvl.project.witness import witness

FEWEST = 50
"""Files a process must have to do; starting one costs as much as checking some ten files."""


def check_many(index: ProjectIndex, paths: Sequence[Path], *, jobs: int = 1) -> Iterator[FileResult]:
    """Check the files of a project, in order; those that cannot be read are noted in the index."""
    processes = min(jobs, len(paths) // FEWEST)
    if processes < 2 or not hasattr(os, "fork"):
        return _check(index, paths)
    # What all of them look things up in is read once, before there are several.
    _ = index.registry, index.nodes, index.presets
    share = -(-len(paths) // processes)
    shares = [paths[start : start + share] for start in range(0, len(paths), share)]
    return _shared_out(index, shares)


def _check(index: ProjectIndex, paths: Sequence[Path]) -> Iterator[FileResult]:
    for path in paths:
        loaded = index.load(path)
        if loaded is not None:
            yield check_file(loaded, index, named=False)
            # What other files ask of it is kept; the file itself is not, or thousands of them would not fit.
            index.entries(path)
        index.shed()


@dataclass(frozen=True, slots=True)
class _Child:
    """A process that checks its share and sends back what it found."""

    pid: int
    answer: BinaryIO
    paths: Sequence[Path]


def _shared_out(index: ProjectIndex, shares: Sequence[Sequence[Path]]) -> Iterator[FileResult]:
    children = [_start(index, paths) for paths in shares[1:]]
    try:
        yield from list(_check(index, shares[0]))
        for child in children:
            yield from _results(index, child)
    finally:
        for child in children:
            child.answer.close()
            os.waitpid(child.pid, 0)


def _start(index: ProjectIndex, paths: Sequence[Path]) -> _Child:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _work(index, paths, writing)
    os.close(writing)
    return _Child(pid, open(reading, "rb"), paths)


def _work(index: ProjectIndex, paths: Sequence[Path], writing: int) -> None:
    """Do a share in a process of its own, which ends here: nothing of the parent's may be cleaned up twice."""
    import pickle  # only where files are shared out

    code = 1
    try:
        before = len(index.unreadable)
        results = list(_check(index, paths))
        entries = [(path, index.entries(path)) for path in paths]
        answer = pickle.dumps((results, entries, index.unreadable[before:], witness.seen), pickle.HIGHEST_PROTOCOL)
        with open(writing, "wb") as stream:
            stream.write(answer)
        code = 0
    finally:
        os._exit(code)


def _results(index: ProjectIndex, child: _Child) -> list[FileResult]:
    import pickle  # only where files are shared out

    data = child.answer.read()
    try:
        results, entries, unreadable, seen = pickle.loads(data)
    except (EOFError, pickle.UnpicklingError):
        # The process was ended from outside, for want of memory say.
        return list(_check(index, child.paths))
    for path, found in entries:
        index.learn(path, found)
    index.unreadable += unreadable
    witness.join(seen)
    done: list[FileResult] = results
    return done
