"""A comparison as people read it on a terminal: by class, a line for each change, then the figures that moved."""

from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.steps import items, mapping
from tuvl.changes.change import CLASSES, GRAVE, ChangeClass
from tuvl.cli.bounds_text import TITLES, figure_text
from tuvl.cli.diff_bounds import WAYS
from tuvl.values import JsonObject, printable

_BOLD, _DIM, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_COLOURS = {
    ChangeClass.BREAKS: "\x1b[1;31m",
    ChangeClass.WIDENS: "\x1b[1;33m",
    ChangeClass.BEHAVIOUR: "\x1b[1;36m",
    ChangeClass.COSMETIC: "\x1b[1m",
}
_MOST_NAMES = 5


def diff_text(document: JsonObject, *, colour: bool = False) -> str:
    """Write the document for people."""
    lines: list[str] = []
    for cls in CLASSES:
        changes = [mapping(each) for each in items(document["changes"]) if mapping(each)["class"] == cls.value]
        if changes:
            title = f"{_COLOURS[cls]}{cls.value}{_RESET}" if colour else cls.value
            lines += [title, *(_line(change, colour=colour) for change in changes), ""]
    moved = list(_moved(document))
    lines += [*moved, ""] if moved else []
    return "\n".join((*lines, summary_line(document))) + "\n"


def _line(change: Mapping[str, Any], *, colour: bool) -> str:
    place = printable(f"{change['file']}:{change['line']}:{change['column']}:")
    place = f"{_BOLD}{place}{_RESET}" if colour else place
    return f"  {place} {change['code']}: {sentence(change)}{concerned(change)}"


def sentence(change: Mapping[str, Any]) -> str:
    """Say in one line what changed."""
    said = printable(str(change["message"])) + ("" if change["certain"] else " (may be)")
    before, after = change["before"], change["after"]
    if before is None and after is None:
        return said
    if before is None:
        return f"{said}: {after}"
    return f"{said}: {before} →" + (f" {after}" if after is not None else " nothing")


def concerned(change: Mapping[str, Any]) -> str:
    """Say which workflows something that stands outside of them concerns."""
    names = [str(name) for name in items(change["workflows"]) if name != change["workflow"]]
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return printable(f" [{', '.join(names[:_MOST_NAMES])}{more}]")


def _moved(document: JsonObject) -> Iterator[str]:
    for case in map(mapping, items(document["bounds"])):
        for way in WAYS:
            moved = [
                f"{TITLES[figure]} {before} → {after}"
                for figure, before, after in moved_figures(case, way)
                if before != after
            ]
            if moved:
                yield printable(f"worst case of {case['workflow']}, {way}: {', '.join(moved)}")


def moved_figures(case: Mapping[str, Any], way: str) -> Iterator[tuple[str, str, str]]:
    """Yield each figure of one workflow, before and after, as it is shown."""
    before, after = mapping(mapping(case["before"])[way]), mapping(mapping(case["after"])[way])
    for figure in TITLES:
        yield figure, figure_text(before[figure], figure), figure_text(after[figure], figure)


def summary_line(document: JsonObject) -> str:
    """Say in one line how much changed."""
    summary = mapping(document["summary"])
    total = summary["changes"]
    left = len({str(mapping(each)["file"]) for each in items(document["unread"]) if mapping(each)["differs"]})
    unread = f"{left} {'file' if left == 1 else 'files'} that changed could not be read" if left else ""
    if not total:
        return f"no change that could be read; {unread}" if unread else "no change"
    parts = []
    for cls in CLASSES:
        count = summary[cls.value.replace(" ", "_")]
        if count:
            # `2 break callers`, `1 breaks callers`.
            words = cls.value if count == 1 or cls not in _PLURAL else _PLURAL[cls]
            parts.append(f"{count} {words}")
    return f"{total} {'change' if total == 1 else 'changes'}: {', '.join(parts)}" + (f"; {unread}" if unread else "")


_PLURAL = {
    ChangeClass.BREAKS: "break callers",
    ChangeClass.WIDENS: "widen authority",
    ChangeClass.BEHAVIOUR: "change behaviour",
}
GRAVE_NAMES = frozenset(cls.value for cls in GRAVE)
"""Classes that end the command with exit code 1, as the document calls them."""
