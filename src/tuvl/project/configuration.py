"""Whether a project's `tuvl.yaml` can be used: a policy that cannot be read must not be taken for none."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tuvl.dataclass import dataclass
from tuvl.project.layout import MISSPELT_FILE, PROJECT_FILE
from tuvl.project.loading import LoadedFile, display_name
from tuvl.source.document import Document
from tuvl.source.place import Range
from tuvl.suggest import closest

KIND = "ProjectConfig"
FIRST_CHARACTER = Range.at(1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFault:
    """Why the configuration of a project cannot be used, and where."""

    file: str
    message: str
    hint: str
    place: Range = FIRST_CHARACTER
    told: bool = False
    """Whether the checks of the file itself say it too."""


def configuration_faults(
    root: Path, loaded: LoadedFile | None, elsewhere: Sequence[Document]
) -> tuple[ConfigFault, ...]:
    """Return what keeps the configuration from being used; empty for a sound one, and for a project without.

    `loaded` is `tuvl.yaml`, `None` when it cannot be read; `elsewhere` are the enabled ProjectConfigs of other files.
    """
    found = (*_misspelt(root), *_unusable(root, loaded), *_second(loaded), *_switched_off(loaded))
    return (*found, *_elsewhere(root, loaded, elsewhere))


def _misspelt(root: Path) -> Iterator[ConfigFault]:
    path = root / MISSPELT_FILE
    if os.path.lexists(path):
        there = os.path.lexists(root / PROJECT_FILE)
        yield ConfigFault(
            file=display_name(path),
            message=f"a project's configuration is called {PROJECT_FILE!r}; {MISSPELT_FILE!r} is never read",
            hint=f"move its settings into {PROJECT_FILE}, and delete it" if there else f"rename it to {PROJECT_FILE}",
        )


def _unusable(root: Path, loaded: LoadedFile | None) -> Iterator[ConfigFault]:
    path = root / PROJECT_FILE
    if not os.path.lexists(path):
        return
    file = display_name(path)
    if loaded is None:
        message = "the project's configuration cannot be read, so its policy is unknown"
        yield ConfigFault(file=file, message=message, hint="mend the file, or delete it if nothing is meant by it")
        return
    broken = next((problem for problem in loaded.problems if problem.code != "TV004"), None)
    if broken is not None:
        place = broken.range.start
        message = f"the project's configuration cannot be read: line {place.line}: {broken.message}"
        yield ConfigFault(file=file, message=message, hint=broken.hint, place=broken.range, told=True)
    elif not configurations(loaded):
        kinds = [document.kind for document in loaded.documents]
        yield ConfigFault(
            file=file,
            message=f"this file holds no `kind: {KIND}`, so no setting and no policy in it would hold",
            hint=f"begin it with `kind: {KIND}`, or delete it if nothing is meant by it",
            told=any(kind is not None and closest(kind, (KIND,)) is not None for kind in kinds),
        )


def _second(loaded: LoadedFile | None) -> Iterator[ConfigFault]:
    found = configurations(loaded)
    for document in found[1:]:
        yield ConfigFault(
            file=document.file,
            message=f"a second {KIND} stands here; the first is in line {_place(found[0]).start.line}",
            hint="put all settings into one of them",
            place=_place(document),
        )


def _switched_off(loaded: LoadedFile | None) -> Iterator[ConfigFault]:
    for document in configurations(loaded):
        if isinstance(document.data, dict) and document.data.get("enabled") is False:
            yield ConfigFault(
                file=document.file,
                message="a project's configuration cannot be switched off: what its policy forbids would be allowed",
                hint="take `enabled: false` away, or delete the settings that are not meant",
                place=document.locate(("enabled",)),
            )


def _elsewhere(root: Path, loaded: LoadedFile | None, documents: Sequence[Document]) -> Iterator[ConfigFault]:
    expected = display_name(root / PROJECT_FILE)
    own = {expected, display_name(root / MISSPELT_FILE)}
    first = next(iter(configurations(loaded)), None)
    for document in documents:
        if document.file in own:
            continue
        beside = "" if first is None else f", and there is one in {first.file}:{_place(first).start.line}"
        yield ConfigFault(
            file=document.file,
            message=f"a {KIND} is read in {expected!r} only, so nothing in this one would hold{beside}",
            hint=f"move its settings into {expected}, or switch it off with `enabled: false`",
            place=_place(document),
        )


def configurations(loaded: LoadedFile | None) -> list[Document]:
    """Return the ProjectConfigs of a file."""
    return [document for document in loaded.documents if document.kind == KIND] if loaded is not None else []


def _place(document: Document) -> Range:
    return document.locate(("kind",))
