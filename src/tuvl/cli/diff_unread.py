"""Files that cannot be read in one of two states: what stands there was not compared, and that is said."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tuvl.analysis.nodes import read_node_file
from tuvl.artifacts.reference import ArtifactRef
from tuvl.changes.compare import Comparison
from tuvl.changes.site import stops_short
from tuvl.cli.diff_sides import Opened
from tuvl.dataclass import dataclass
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import walk

_NAME = re.compile(rb"name['\"]?\s*:\s*['\"]?([\w.-]+)")
_WORD = re.compile(rb"[\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A file of which something could not be read."""

    file: str
    """How a person knows it."""
    old_side: bool
    differs: bool
    """Whether its bytes are others in the two states, so that a change went unread."""
    why: str


def unread_text(unread: Unread) -> str:
    """Say what was not compared."""
    ending = (
        "what changed in it was not compared" if unread.differs else "it is the same in both states, and was passed by"
    )
    return f"{unread.file} cannot be read ({unread.why}): {ending}"


def unread_files(found: Comparison, old: Opened, new: Opened) -> list[Unread]:
    """Return what could not be read of the two states; of two files that were named, of what they may refer to."""
    sides = (old, new)
    trees = [_tree(opened) for opened in sides]
    words = _words(found) if old.is_file else None
    unread = []
    for path in sorted(trees[0].keys() | trees[1].keys()):
        files = [tree.get(path) for tree in trees]
        raws = [
            None if file is None else opened.side.index.raw(file) for opened, file in zip(sides, files, strict=True)
        ]
        for opened, file, raw in zip(sides, files, raws, strict=True):
            if file is None or raw is None or (words is not None and not _concerns(file, raw, words)):
                continue
            why = _why(opened.side.index, file, raw)
            if why is not None:
                shown = opened.side.shown(opened.side.index.relative(file))
                unread.append(Unread(file=shown, old_side=opened is old, differs=raws[0] != raws[1], why=why))
    return unread


def _tree(opened: Opened) -> Mapping[str, Path]:
    """The files that were compared, by their paths below what was named, or below the project of a file."""
    index = opened.side.index
    if opened.is_file or opened.path == index.root:
        return {os.path.relpath(path, index.root): path for path in (*index.paths, *index.node_paths)}
    paths: Sequence[Path] = tuple(walk(opened.path, prose=index.folder("artifacts"), on_error=index.note_unlisted))
    return {os.path.relpath(path, opened.path): path for path in (*paths, *index.node_paths)}


def _why(index: ProjectIndex, path: Path, raw: bytes) -> str | None:
    if path.suffix == ".py":
        problems = read_node_file(raw.decode("utf-8", "replace"), file=index.relative(path)).problems
        return f"line {problems[0].line}: no Python that can be read" if problems else None
    loaded = index.load(path)
    if loaded is None or not stops_short(loaded):
        return None
    problem = next(each for each in loaded.problems if each.code != "TV004")
    return f"line {problem.range.start.line}: {problem.message}"


def _concerns(path: Path, raw: bytes, words: frozenset[bytes]) -> bool:
    """Whether a file may hold something of a name that the compared documents say."""
    if b"\0" in raw[:4]:
        return True
    return not words.isdisjoint((_WORD if path.suffix == ".py" else _NAME).findall(raw))


def _words(found: Comparison) -> frozenset[bytes]:
    """Every text of the compared documents that may be a name, and the names of artifacts."""
    words: set[bytes] = set()
    for pair in found.compared:
        for doc in pair:
            words.add(doc.name.encode())
            for text in _texts(doc.document.data):
                reference = ArtifactRef.parse(text)
                words.add((text if reference is None else reference.name).encode("utf-8", "replace"))
    return frozenset(words - {b""})


def _texts(value: object) -> Iterator[str]:
    waiting: list[object] = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
