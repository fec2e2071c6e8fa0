"""Opens what `tuvl diff` compares: a file, a folder, or either as it was at a commit."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from tuvl.changes.site import Doc, Side, doc_of
from tuvl.cli.git import GitError, commit_of, git
from tuvl.cli.git_tree import Tree, lay_down, read_tree
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.project.hiding import is_foreign
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import absolute, find_root, walk
from tuvl.project.loading import LoadedFile, display_name
from tuvl.spec.schema_files import KINDS

GIT = "git:"


@dataclass(frozen=True, slots=True)
class Opened:
    """One state: the project around it, the documents that are compared, and whether a file was named."""

    side: Side
    roots: tuple[Doc, ...]
    is_file: bool
    path: Path
    """The file or folder that was named."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one argument says: a path, a commit, or both."""

    word: str
    ref: str | None
    path: str | None


@contextmanager
def open_sides(old: str, new: str) -> Iterator[tuple[Opened, Opened]]:
    """Open both states; raises `UsageError`. What a commit held is in a folder that is gone afterwards."""
    asked = (_read(old), _read(new))
    with ExitStack() as stack:
        opened = [_open(one, other, stack) for one, other in (asked, asked[::-1])]
        before, after = opened
        if before.is_file != after.is_file:
            kinds = ["a file" if each.is_file else "a folder" for each in opened]
            raise UsageError(f"{old!r} is {kinds[0]} and {new!r} {kinds[1]}; compare two files, or two folders")
        yield before, after


def _read(word: str) -> _Asked:
    if not word.startswith(GIT):
        return _Asked(word, None, word)
    ref, colon, path = word.removeprefix(GIT).partition(":")
    if not ref:
        raise UsageError(f"{word!r} names no commit; write git:REF or git:REF:PATH, e.g. git:origin/main")
    return _Asked(word, ref, path if colon else None)


def _open(asked: _Asked, other: _Asked, stack: ExitStack) -> Opened:
    if asked.ref is None:
        path = absolute(_existing(asked.word))
        return _opened(Side(ProjectIndex(find_root(path))), path)
    folder, path_in_tree = _path_in_tree(asked, other)
    commit = commit_of(folder, asked.ref, asked=asked.word)
    tree = read_tree(folder, commit, asked=asked.word)
    _check_there(tree, path_in_tree, asked)
    top = Path(os.path.realpath(stack.enter_context(tempfile.TemporaryDirectory(prefix="tuvl-diff-"))))
    root = tree.root_of(path_in_tree)
    lay_down(tree, root, top)
    side = Side(ProjectIndex(top / root), prefix=display_name(top) + os.sep, label=f"{asked.ref}:")
    if not (top / root).is_dir() or not (top / path_in_tree).exists():
        raise UsageError(f"{asked.word}: {path_in_tree!r} holds nothing that can be compared")
    return _opened(side, top / path_in_tree)


def _existing(word: str) -> Path:
    path = Path(word)
    if not os.path.lexists(path):
        hint = "name a workflow file, a folder, or git:REF for what a commit held"
        raise UsageError(f"there is no file or folder {word!r}; {hint}")
    return path


def _path_in_tree(asked: _Asked, other: _Asked) -> tuple[Path, str]:
    """Return a folder of the repository, and the path from its root; without one, that of the other argument."""
    if asked.path is not None and (other.ref is not None or asked.path):
        here = Path.cwd()
        relative = asked.path.startswith(("./", "../")) or asked.path == "."
        path = os.path.normpath(os.path.join(_prefix(here, asked.word), asked.path) if relative else asked.path)
        if path.startswith(("..", "/")):
            raise UsageError(f"{asked.word}: the path leads out of the repository; write it from the repository's root")
        return here, "" if path == "." else path
    if other.ref is None:
        path_there = absolute(_existing(other.word))
        folder = path_there if path_there.is_dir() else path_there.parent
        name = "" if path_there.is_dir() else path_there.name
        return folder, f"{_prefix(folder, asked.word)}{name}".rstrip("/")
    if other.path is not None:
        return _path_in_tree(replace(asked, path=other.path), replace(other, path=None))
    root = find_root(Path.cwd())
    return root, _prefix(root, asked.word).rstrip("/")


def _prefix(folder: Path, word: str) -> str:
    try:
        found = git(folder, "rev-parse", "--show-prefix", asked=word)
    except GitError as error:
        raise UsageError(f"{word}: {str(folder)!r} is in no git repository ({error})") from None
    return found.decode("utf-8", "surrogateescape").removesuffix("\n")


def _check_there(tree: Tree, path: str, asked: _Asked) -> None:
    if not tree.is_file(path) and not tree.is_folder(path):
        hint = "write the path from the repository's root, or ./PATH from here"
        if asked.path is None:
            hint = "compare the folders around it to see what is new"
        raise UsageError(f"{asked.word}: there is no {path!r} in that commit; {hint}")


def _opened(side: Side, path: Path) -> Opened:
    if path.is_dir():
        docs = tuple(_documents(side, list(_in_folder(side.index, path))))
        if not docs:
            where = side.shown(display_name(path) + os.sep).rstrip("/:")
            raise UsageError(f"{where!r} holds no document; name the folder of a project")
        return Opened(side, docs, False, path)
    loaded = side.index.load(path)
    if loaded is None:
        raise UsageError(side.shown(side.index.unreadable[-1]))
    docs = tuple(_documents(side, [loaded]))
    if not docs:
        said = "cannot be read as YAML; `tuvl validate` says why" if loaded.problems else "holds no document of tuvl"
        raise UsageError(f"{side.shown(loaded.file)!r} {said}")
    return Opened(side, docs, True, path)


def _in_folder(index: ProjectIndex, folder: Path) -> Iterator[LoadedFile]:
    if folder == index.root:
        yield from index.files()
        return
    for path in walk(folder, prose=index.folder("artifacts"), on_error=index.note_unlisted):
        loaded = index.load(path)
        if loaded is not None:
            yield loaded


def _documents(side: Side, files: list[LoadedFile]) -> Iterator[Doc]:
    for loaded in files:
        for document in loaded.documents:
            if loaded.prose is not None or (document.kind in KINDS and not is_foreign(document)):
                yield doc_of(side, document)
