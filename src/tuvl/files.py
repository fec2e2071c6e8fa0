"""Writing a file in one move, and never by way of a link that somebody else has laid.

A repository can carry links, in a change that nobody has read yet. What is written below a folder therefore stays below
it: a link that leads elsewhere is an error, told before anything is written.
"""

import errno
import os
import stat
import threading
from contextlib import suppress
from pathlib import Path

_TREE_MARKS = (".git", "tuvl.yaml")
"""What lies at the top of a repository, or else of a project."""
_OF_THE_SYSTEM = ("/dev/", "/proc/")
"""Folders of which all is a link or a device, laid by nobody: `/dev/stdout`."""


class LinkedAwayError(OSError):
    """A path leads out of the folder that it stands in, by a link."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ELOOP, "a link leads it out of the project", str(path))


def write_whole(path: Path, text: str, *, within: Path | None = None) -> None:
    """Write a text file in one move, see `write_bytes_whole`; UTF-8, line breaks as they are."""
    write_bytes_whole(path, text.encode("utf-8"), within=within)


def write_bytes_whole(path: Path, data: bytes, *, within: Path | None = None) -> None:
    """Write a file in one move: readers see the old file or the new one, never half of it; raises `OSError`.

    A link is followed as far as `within`, see `real_target`. A pipe or a device such as the null device is written to:
    a move would put a plain file in its place.
    """
    path = real_target(path, within=within)
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    # Beside its target, since a rename is one move only within one file system.
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.part")
    try:
        # `x` makes it, so that a link of that name is not written through either.
        with temporary.open("xb") as stream:
            stream.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def real_target(path: Path, *, within: Path | None = None) -> Path:
    """Return what a path names once its links are followed; raises `LinkedAwayError` where they lead out of `within`.

    Without `within` it is the repository that the path stands in, else the project, else the folder.
    """
    real = os.path.realpath(path)
    if within is None and os.path.abspath(path).startswith(_OF_THE_SYSTEM):
        return Path(real)
    if not _is_below(real, os.path.realpath(_tree_of(path) if within is None else within)):
        raise LinkedAwayError(path)
    return Path(real)


def _tree_of(path: Path) -> Path:
    # By the names as they are written: it is their links that are in question.
    folders = Path(os.path.abspath(path)).parents
    marked = (folder for mark in _TREE_MARKS for folder in folders if os.path.lexists(folder / mark))
    return next(marked, folders[0])


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def make_own_folder(folder: Path) -> None:
    """Make a folder of our own that only its owner can look into; raises `OSError`.

    One that is there already is made so, where it is this user's.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    _tighten(folder)


def make_own_database(path: Path) -> None:
    """Make the file of a database of our own, before SQLite does, that only its owner can read; raises `OSError`.

    One that is there already is made so, with those that SQLite keeps beside it; new ones of these follow it in that.
    """
    # Never opened when it is there: closing any of its descriptors would give up the locks of SQLite.
    with _making, suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    for suffix in ("", "-wal", "-shm"):
        _tighten(path.with_name(path.name + suffix))


_making = threading.Lock()


def _tighten(path: Path) -> None:
    with suppress(FileNotFoundError, PermissionError):  # gone by now, or somebody else's, who decides about it
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            path.chmod(mode & ~0o077)
