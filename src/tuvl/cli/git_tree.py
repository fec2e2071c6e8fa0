"""A project as it was at a commit, laid down in a folder of its own; the work tree is not touched.

Only files that a project reads are written. Links become links where they stay inside; others, and submodules, are
left out. Nothing of the repository is run, and no file has rights to be.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from tuvl.cli.git import git
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.project.layout import FOLDERS, MISSPELT_FILE, PROJECT_FILE
from tuvl.project.loading import MAX_READ

_READ = frozenset({".yaml", ".yml", ".md", ".py", ".toml", ".json"})
_LINK = "120000"
_FILES = frozenset({"100644", "100755", "100664"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a commit; `path` is from the repository's root."""

    mode: str
    digest: str
    size: int
    path: str


@dataclass(frozen=True, slots=True)
class Tree:
    """All files of a commit."""

    folder: Path
    commit: str
    asked: str
    entries: tuple[Entry, ...]

    def is_file(self, path: str) -> bool:
        """Whether there is a file, or a link, of that path."""
        return any(entry.path == path for entry in self.entries)

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder of that path; the empty one is the repository's root."""
        return not path or any(entry.path.startswith(f"{path}/") for entry in self.entries)

    def root_of(self, path: str) -> str:
        """The root of the project that a file or folder belongs to, by the rules of the work tree."""
        start = PurePosixPath(path) if self.is_folder(path) else PurePosixPath(path).parent
        ancestors = [str(part) if str(part) != "." else "" for part in (start, *start.parents)]
        files = {entry.path for entry in self.entries}
        folders = {str(parent) for name in files for parent in PurePosixPath(name).parents}
        for folder in ancestors:
            if any(_join(folder, name) in files for name in (PROJECT_FILE, MISSPELT_FILE)):
                return folder
        for folder in ancestors:
            if any(_join(folder, name) in folders for name in FOLDERS):
                return folder
        return ancestors[0]


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def read_tree(folder: Path, commit: str, *, asked: str) -> Tree:
    """List the files of a commit of the repository that a folder lies in."""
    listed = git(folder, "ls-tree", "-r", "-z", "-l", "--full-tree", commit, asked=asked)
    return Tree(folder, commit, asked, tuple(_entries(listed)))


def _entries(listed: bytes) -> Iterator[Entry]:
    for line in listed.split(b"\0"):
        head, _, name = line.partition(b"\t")
        words = head.decode("ascii", "replace").split()
        path = name.decode("utf-8", "surrogateescape")
        if len(words) == 4 and _is_sound(path):
            yield Entry(words[0], words[2], int(words[3]) if words[3].isdecimal() else 0, path)


def _is_sound(path: str) -> bool:
    """Whether a path stays where it is laid down; git takes care of it, and a made-up tree may not."""
    parts = path.split("/")
    return bool(path) and not any(part in ("", ".", "..") or part.lower() == ".git" for part in parts)


def lay_down(tree: Tree, root: str, top: Path) -> None:
    """Write the files of one project of a commit below a folder, under their paths in the repository."""
    inside = [entry for entry in tree.entries if not root or entry.path.startswith(f"{root}/")]
    files = [entry for entry in inside if entry.mode in _FILES and _is_read(entry)]
    links = [entry for entry in inside if entry.mode == _LINK]
    for path, raw in _contents(tree, files):
        target = top / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            target.write_bytes(raw)
    made = []
    for path, raw in _contents(tree, links):
        target = top / path
        if not os.path.lexists(target) and not os.path.isabs(raw) and b"\0" not in raw:
            target.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(os.fsdecode(raw), target)
            made.append(target)
    # Only now can be told where they lead: a link may go through another.
    real = os.path.realpath(top)
    for target in made:
        if not os.path.realpath(target).startswith(real + os.sep):
            target.unlink()


def _is_read(entry: Entry) -> bool:
    path = PurePosixPath(entry.path)
    return path.suffix.lower() in _READ and entry.size <= MAX_READ and "node_modules" not in path.parts


def _contents(tree: Tree, entries: Sequence[Entry]) -> Iterator[tuple[str, bytes]]:
    if not entries:
        return
    asked = "".join(f"{entry.digest}\n" for entry in entries).encode("ascii")
    output = git(tree.folder, "cat-file", "--batch", given=asked, asked=tree.asked)
    at = 0
    for entry in entries:
        end = output.index(b"\n", at)
        words = output[at:end].split(b" ")
        at = end + 1
        if len(words) != 3 or not words[2].isdigit():
            name = entry.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            hint = "a partial clone must fetch it first"
            raise UsageError(f"{tree.asked}: the repository does not hold {name!r} of that commit; {hint}")
        size = int(words[2])
        yield entry.path, output[at : at + size]
        at += size + 1
