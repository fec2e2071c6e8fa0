"""Files in which documents of a kind may stand that nobody sees: without them, a list of those is not all of them."""

from collections.abc import Iterator

from tuvl.project.hiding import Hiding, may_hide_kind, may_hold
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import is_prose
from tuvl.project.loading import display_name


def unseen(project: ProjectIndex, kind: str) -> tuple[Hiding, ...]:
    """Return the files with a mistake for which a document of a kind may not be found: unread, or its kind misspelt."""
    return tuple(_hiding(project, kind))


def _hiding(project: ProjectIndex, kind: str) -> Iterator[Hiding]:
    for path in project.paths:
        if is_prose(path):
            continue
        raw = project.raw(path)
        loaded = project.load(path) if raw is not None and may_hold(raw, kind) else None
        if raw is None or (loaded is not None and may_hide_kind(loaded, kind)):
            yield Hiding(display_name(path), loaded)
