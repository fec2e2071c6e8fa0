"""Where a project begins, and which of its files are read."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

PROJECT_FILE = "tuvl.yaml"
"""The file whose presence makes a folder a project root."""

MISSPELT_FILE = "tuvl.yml"
"""Never read, but it makes a root too: who wrote it must be told, not be left without a policy."""

FOLDERS = ("workflows", "artifacts", "llms", "models", "datasources", "nodes", "tests")
"""Folders that make a project of a folder without `tuvl.yaml`."""

YAML_SUFFIXES = frozenset({".yaml", ".yml"})
PROSE_SUFFIX = ".md"

RELEASE_RECORD = "ship.json"
"""What `tuvl ship` leaves beside the files of a release."""
RELEASE_FORMAT = "tuvl-ship"
"""What its `format` says."""
_OF_A_RELEASE = frozenset({"compose.yaml", "kubernetes.yaml"})
"""YAML files of a release: written from the documents of a project, and none of them."""

MOST_BEHIND_LINKS = 10_000
"""Folders that links may lead to: a link into the system's own folders must not take a walk through all of them."""

_LEFT_OUT = frozenset({"node_modules", "__pycache__", "site-packages"})
_ENVIRONMENT_MARKS = frozenset({"pyvenv.cfg", "conda-meta"})


def absolute(path: Path) -> Path:
    """Make a path absolute without following links, so that messages show it the way it was given."""
    return Path(os.path.abspath(path))


def display_name(path: Path) -> str:
    """How messages call a file: relative to the working directory when it is below it, else absolute.

    Bytes of a name that are no UTF-8 are shown as escapes, so that any output can hold them.
    """
    shown = os.path.abspath(path)
    here = os.getcwd()
    if shown == here:
        shown = "."
    elif shown.startswith(here.rstrip(os.sep) + os.sep):
        shown = os.path.relpath(shown, here)
    return os.fsencode(shown).decode("utf-8", "backslashreplace")


def find_root(path: Path) -> Path:
    """Return the root of the project that a file or folder belongs to, as an absolute path.

    It is the nearest folder upwards that holds `tuvl.yaml`; else the nearest that holds one of the project folders;
    else the file's own folder. The file system's root and the home directory count only with a `tuvl.yaml`, since a
    folder named `tests` there says nothing.
    """
    start = absolute(path)
    if not start.is_dir():
        start = start.parent
    ancestors = (start, *start.parents)
    for folder in ancestors:
        if is_project(folder):
            return folder
    vague = {Path(start.anchor), Path(os.path.expanduser("~"))}
    for folder in ancestors:
        if folder not in vague and any((folder / name).is_dir() for name in FOLDERS):
            return folder
    return start


def is_project(folder: Path) -> bool:
    """Tell whether a folder holds a `tuvl.yaml`, one that cannot be read or is called `tuvl.yml` included."""
    return any(os.path.lexists(folder / name) for name in (PROJECT_FILE, MISSPELT_FILE))


def is_prose(path: Path) -> bool:
    """Tell whether a file's name says markdown."""
    return path.suffix.lower() == PROSE_SUFFIX


def fail(error: OSError) -> None:
    """Raise what kept a folder from being listed."""
    raise error


def walk(top: Path, *, prose: Path | None = None, on_error: Callable[[OSError], None] = fail) -> Iterator[Path]:
    """Yield the files below a folder that may hold documents, in a fixed order.

    Those are YAML files anywhere, and markdown files below `prose` (default `<top>/artifacts`). Left out are
    dot-folders, virtual environments, `node_modules`, folders that are projects of their own, and what `tuvl ship`
    wrote. Links to folders
    are followed, each real folder once, those that `top` itself lies in excluded. A folder that cannot be listed goes
    to `on_error`, which raises by default.
    """
    root = absolute(top)
    prose_root = str(prose or root / "artifacts")
    for folder, entries in _folders(root, on_error):
        in_prose = folder == prose_root or folder.startswith(prose_root + os.sep)
        is_release = _is_release(folder, entries)
        for entry in entries:
            if is_release and entry.name in _OF_A_RELEASE:
                continue
            suffix = os.path.splitext(entry.name)[1].lower()
            if (suffix in YAML_SUFFIXES or (in_prose and suffix == PROSE_SUFFIX)) and _is_file(entry):
                yield Path(entry.path)


def _is_release(folder: str, entries: "list[os.DirEntry[str]]") -> bool:
    """Whether `tuvl ship` has written into a folder. Its other files may be of the project all the same."""
    if not any(entry.name == RELEASE_RECORD and _is_file(entry) for entry in entries):
        return False
    try:
        with open(os.path.join(folder, RELEASE_RECORD), "rb") as stream:
            return f'"format": "{RELEASE_FORMAT}"'.encode() in stream.read(200)
    except OSError:
        return False


def nested_projects(top: Path, *, on_error: Callable[[OSError], None] = fail) -> Iterator[Path]:
    """Yield the folders below `top`, `top` itself excluded, that hold a `tuvl.yaml` of their own."""
    root = absolute(top)
    for folder, entries in _folders(root, on_error, enter_projects=True):
        if folder != str(root) and any(entry.name in (PROJECT_FILE, MISSPELT_FILE) for entry in entries):
            yield Path(folder)


def _folders(
    root: Path, on_error: Callable[[OSError], None], *, enter_projects: bool = False
) -> "Iterator[tuple[str, list[os.DirEntry[str]]]]":
    """Yield each folder that is walked with its sorted entries, parents first."""
    # A link to a folder that the root lies in leads to everything else that lies there.
    seen = {identity for above in Path(os.path.realpath(root)).parents for identity in _identity(above)}
    pending = [(str(root), False)]
    behind_links = 0
    while pending:
        folder, is_behind_link = pending.pop()
        behind_links += is_behind_link
        if behind_links > MOST_BEHIND_LINKS:
            on_error(OSError(errno.EMLINK, f"links lead to more than {MOST_BEHIND_LINKS:,} folders", folder))
            return
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            on_error(error)
            continue
        names = {entry.name for entry in entries}
        is_other_project = folder != str(root) and not names.isdisjoint((PROJECT_FILE, MISSPELT_FILE))
        if names & _ENVIRONMENT_MARKS or (is_other_project and not enter_projects):
            continue
        yield folder, [entry for entry in entries if not entry.name.startswith(".")]
        pending.extend(
            (entry.path, is_behind_link or entry.is_symlink()) for entry in reversed(entries) if _is_walked(entry)
        )


def _identity(folder: Path) -> Iterator[tuple[int, int]]:
    with suppress(OSError):
        status = os.stat(folder)
        yield status.st_dev, status.st_ino


def _is_walked(entry: "os.DirEntry[str]") -> bool:
    return not entry.name.startswith(".") and entry.name not in _LEFT_OUT and _is_folder(entry)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads nowhere, or in a circle
        return False


def _is_file(entry: "os.DirEntry[str]") -> bool:
    # A link that leads nowhere is listed all the same: reading it then says what is wrong. Pipes and sockets are not.
    try:
        return entry.is_file() or (entry.is_symlink() and not entry.is_dir() and not os.path.exists(entry.path))
    except OSError:
        return True
