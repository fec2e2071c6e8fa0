"""A comparison as a comment on a pull request, no longer than it may be."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

from tuvl.analysis.steps import items, mapping
from tuvl.changes.change import CLASSES, ChangeClass
from tuvl.cli.bounds_text import TITLES
from tuvl.cli.diff_bounds import WAYS
from tuvl.cli.diff_picture import Drawn
from tuvl.cli.diff_text import concerned, moved_figures, summary_line
from tuvl.values import JsonObject, printable

_SIGNS = {
    ChangeClass.BREAKS.value: "❌",
    ChangeClass.WIDENS.value: "⚠️",
    ChangeClass.BEHAVIOUR.value: "🔁",
    ChangeClass.COSMETIC.value: "✏️",
}
_LONGEST_NOTE = 400
"""Characters kept for saying what did not fit."""


def diff_markdown(document: JsonObject, drawn: Sequence[Drawn], *, most: int) -> str:
    """Write the comment: what is grave in the open, the rest to be unfolded; at most `most` characters."""
    page = _Page(most - _LONGEST_NOTE)
    page.add(f"### What changes for agents\n\n{summary_line(document).capitalize()}.\n")
    for cls in CLASSES:
        rows = [_row(mapping(each)) for each in items(document["changes"]) if mapping(each)["class"] == cls.value]
        if rows:
            _table(page, cls, rows)
    _bounds(page, document)
    for picture in drawn:
        fence = f"```mermaid\n{picture.mermaid}```\n"
        title = f"Picture of {_cell(picture.workflow)}: + added, − removed, ~ changed"
        page.add(f"\n<details><summary>{title}</summary>\n\n{fence}\n</details>\n", what="pictures")
    return page.text


class _Page:
    """Text that never grows past a size; what does not fit is counted."""

    def __init__(self, room: int) -> None:
        self._parts: list[str] = []
        self._left = room
        self._without: dict[str, int] = {}

    def fits(self, text: str, spare: int = 0) -> bool:
        """Whether a text still fits."""
        return len(text) + spare <= self._left

    def add(self, text: str, *, what: str = "parts") -> bool:
        """Add a text, whole or not at all."""
        if not self.fits(text):
            self.leave_out(what)
            return False
        self._parts.append(text)
        self._left -= len(text)
        return True

    def leave_out(self, what: str, count: int = 1) -> None:
        """Count what did not fit."""
        self._without[what] = self._without.get(what, 0) + count

    @property
    def text(self) -> str:
        """All that fits, and what did not."""
        if not self._without:
            return "".join(self._parts)
        left = ", ".join(f"{count:,} {what}" for what, count in self._without.items())
        return (
            "".join(self._parts) + f"\n> [!NOTE]\n> Too long for one comment; left out: {left}. `tuvl diff` says all.\n"
        )


def _table(page: _Page, cls: ChangeClass, rows: list[str]) -> None:
    folded = cls in (ChangeClass.BEHAVIOUR, ChangeClass.COSMETIC)
    title = f"{_SIGNS[cls.value]} {cls.value}: {len(rows)}"
    opening = f"\n<details><summary>{title}</summary>\n\n" if folded else f"\n#### {title}\n\n"
    closing = "\n</details>\n" if folded else ""
    head = "| change | where | before → after |\n|---|---|---|\n"
    if not page.fits(opening + head + rows[0] + closing):
        page.leave_out("changes", len(rows))
        return
    page.add(opening + head)
    for number, row in enumerate(rows):
        if not page.fits(row, spare=len(closing)):
            page.leave_out("changes", len(rows) - number)
            break
        page.add(row)
    page.add(closing)


def _row(change: Mapping[str, Any]) -> str:
    said = _cell(str(change["message"])) + ("" if change["certain"] else " <i>(may be)</i>")
    said += f"<br><sub>{change['code']}{_cell(concerned(change))}</sub>"
    place = _cell(f"{change['file']}:{change['line']}")
    before, after = change["before"], change["after"]
    values = " → ".join("" if value is None else f"<code>{_cell(str(value))}</code>" for value in (before, after))
    shown = "" if before is None and after is None else values
    return f"| {said} | {place} | {shown} |\n"


def _bounds(page: _Page, document: JsonObject) -> None:
    cases = [mapping(case) for case in items(document["bounds"])]
    moved = [case for case in cases if case["differs"]]
    if not moved:
        if cases:
            page.add("\nThe worst case of a run is what it was.\n", what="figures")
        return
    lines = ["", "#### Worst case of a run", "", "| workflow | | " + " | ".join(TITLES.values()) + " |"]
    lines.append("|---|---|" + "---:|" * len(TITLES))
    for case in moved:
        for way in WAYS:
            figures = [
                before if before == after else f"{before} → <b>{after}</b>"
                for _, before, after in moved_figures(case, way)
            ]
            name = _cell(str(case["workflow"])) if way == WAYS[0] else ""
            lines.append(f"| {name} | {way} | " + " | ".join(figures) + " |")
    page.add("\n".join(lines) + "\n", what="tables of figures")


def _cell(text: str) -> str:
    """Escape a text of a file, so that it neither leaves its cell nor is read as markup or as a mention."""
    safe = html.escape(printable(text), quote=False)
    return "".join(f"&#{ord(sign)};" if sign in "|@`*_[]!#\\~:" else sign for sign in safe)
