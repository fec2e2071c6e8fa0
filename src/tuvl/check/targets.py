"""The files of one project that are to be checked, named or met on a walk."""

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from tuvl.dataclass import dataclass
from tuvl.project.asked import Asked, asked_for, walked_in
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import display_name


@dataclass(frozen=True)
class Target:
    """What is asked for of one project."""

    index: ProjectIndex
    asked: Asked

    @cached_property
    def walked(self) -> tuple[Path, ...]:
        """The files met in the folders, each once, in order."""
        if self.asked.whole:
            return self.index.paths
        prose, on_error = self.index.folder("artifacts"), self.index.note_unlisted
        return tuple(walked_in(self.asked.folders, prose=prose, on_error=on_error))

    def covers(self, file: str) -> bool:
        """Whether a file, by the name messages give it, lies in one of the folders."""
        return self.asked.whole or any(_lies_in(file, display_name(folder)) for folder in self.asked.folders)


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
    asked = asked_for(paths, project=project)
    targets = [Target(ProjectIndex(each.root), each) for each in asked.projects]
    for target in targets:
        for error in target.asked.unlisted:
            target.index.note_unlisted(error)
    return Targets(targets, asked.missing)
