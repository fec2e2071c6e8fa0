"""What a list of paths asks for: which files, of which projects, named or met on a walk."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tuvl.project.index import ProjectIndex
from tuvl.project.layout import absolute, find_root, is_project, nested_projects, walk
from tuvl.project.loading import display_name


@dataclass(slots=True)
class Target:
    """The files of one project that are to be checked."""

    index: ProjectIndex
    named: list[Path] = field(default_factory=list)
    """Files the user named; these are checked with all they refer to."""
    folders: list[Path] = field(default_factory=list)
    """Folders the user named; the root stands for the whole project."""
    holds_projects: bool = False
    """Whether projects of their own lie in the folders, so that nothing else need be there."""

    @property
    def whole(self) -> bool:
        """Whether the whole project is asked for."""
        return self.index.root in self.folders

    def walked(self) -> Iterator[Path]:
        """Yield the files met in the folders, each once, in order."""
        if self.whole:
            yield from self.index.paths
            return
        seen: set[Path] = set()
        prose = self.index.folder("artifacts")
        for folder in self.folders:
            for path in walk(folder, prose=prose, on_error=self.index.note_unlisted):
                if path not in seen:
                    seen.add(path)
                    yield path

    def covers(self, file: str) -> bool:
        """Whether a file, by the name messages give it, lies in one of the folders."""
        return self.whole or any(_lies_in(file, display_name(folder)) for folder in self.folders)


def _lies_in(file: str, folder: str) -> bool:
    if folder == ".":
        return not os.path.isabs(file)
    return file.startswith(f"{folder.rstrip(os.sep)}{os.sep}")


@dataclass(slots=True)
class Targets:
    """Everything that is to be checked, and what cannot be."""

    targets: list[Target]
    unreadable: list[str]


def find_targets(paths: Sequence[Path], *, project: Path | None = None) -> Targets:
    """Sort paths into projects; without paths it is the project of the working directory."""
    by_root: dict[Path, Target] = {}
    unreadable: list[str] = []

    def target(root: Path) -> Target:
        return by_root.setdefault(root, Target(ProjectIndex(root)))

    if not paths:
        paths = [project if project is not None else find_root(Path())]
    for path in dict.fromkeys(absolute(path) for path in paths):
        root = absolute(project) if project is not None else find_root(path)
        if path.is_dir():
            target(root).folders.append(path)
            if project is None and not is_project(root):
                # A folder of projects: each is checked by its own tuvl.yaml.
                for nested in nested_projects(path, on_error=target(root).index.note_unlisted):
                    target(nested).folders.append(nested)
                    target(root).holds_projects = True
        elif path.exists() or path.is_symlink():
            target(root).named.append(path)
        else:
            unreadable.append(f"cannot read {display_name(path)!r}: no such file or folder")
    return Targets(list(by_root.values()), unreadable)
