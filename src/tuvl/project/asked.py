"""What a list of paths asks for: which files and folders, of which projects. Nothing but names is looked at."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from pathlib import Path

from tuvl.dataclass import dataclass
from tuvl.project.layout import absolute, display_name, fail, find_root, is_project, nested_projects, walk


@dataclass(slots=True)
class Asked:
    """The paths that lie in one project."""

    root: Path
    named: list[Path] = field(default_factory=list)
    """Files the user named; these are checked with all they refer to."""
    folders: list[Path] = field(default_factory=list)
    """Folders the user named; the root stands for the whole project."""
    holds_projects: bool = False
    """Whether projects of their own lie in the folders, so that nothing else need be there."""
    unlisted: list[OSError] = field(default_factory=list)
    """Folders in which projects of their own could not be looked for."""

    @property
    def whole(self) -> bool:
        """Whether the whole project is asked for."""
        return self.root in self.folders


@dataclass(slots=True)
class AllAsked:
    """Everything that is asked for, and what is not there."""

    projects: list[Asked]
    missing: list[str]
    """One message for each path that does not exist."""


def asked_for(paths: Sequence[Path], *, project: Path | None = None) -> AllAsked:
    """Sort paths into projects; without paths it is the project of the working directory."""
    by_root: dict[Path, Asked] = {}
    missing: list[str] = []

    def at(root: Path) -> Asked:
        return by_root.setdefault(root, Asked(root))

    if not paths:
        paths = [project if project is not None else find_root(Path())]
    for path in dict.fromkeys(absolute(path) for path in paths):
        root = absolute(project) if project is not None else find_root(path)
        if path.is_dir():
            at(root).folders.append(path)
            if project is None and not is_project(root):
                # A folder of projects: each is checked by its own tuvl.yaml.
                for nested in nested_projects(path, on_error=at(root).unlisted.append):
                    at(nested).folders.append(nested)
                    at(root).holds_projects = True
        elif path.exists() or path.is_symlink():
            at(root).named.append(path)
        else:
            missing.append(f"cannot read {display_name(path)!r}: no such file or folder")
    return AllAsked(list(by_root.values()), missing)


def walked_in(folders: Sequence[Path], *, prose: Path, on_error: Callable[[OSError], None] = fail) -> Iterator[Path]:
    """Yield the files met in folders, each once, in order; see `walk`."""
    seen: set[Path] = set()
    for folder in folders:
        for path in walk(folder, prose=prose, on_error=on_error):
            if path not in seen:
                seen.add(path)
                yield path
