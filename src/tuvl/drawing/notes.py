"""What a text format writes into the box of a step, below its name and kind."""

from collections.abc import Mapping

from tuvl.check.finding import Severity
from tuvl.dataclass import dataclass
from tuvl.drawing.sheet import Sheet

_WORDS = {"read": "reads", "write": "writes", "approval": "asks for approval"}
_TITLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Short lines, and how much the worst of what was found at the step weighs."""

    lines: tuple[str, ...] = ()
    worst: Severity | None = None


def notes_of(sheet: Sheet) -> Mapping[str, Note]:
    """The notes by the key of the node they stand in."""
    found: dict[str, Note] = {}
    for node in sheet.picture.nodes:
        if node.shape != "step":
            continue
        facts, mark = sheet.facts[node.label], sheet.marks.get(node.label)
        tags = " · ".join(_WORDS.get(tag, tag) for tag in facts.tags)
        runs = (f"runs {facts.runs}",) if facts.kind in ("Workflow", "ForEach") and facts.runs else ()
        lines = (tags, *runs, *sheet.lines.get(node.label, ()))
        if mark is not None:
            said = ", ".join(dict.fromkeys(f"{each.code} {each.name}" for each in mark.findings[:_TITLES]))
            more = ", …" if len(mark.findings) > _TITLES else ""
            lines = (*lines, f"{mark.text}: {said}{more}")
        found[node.key] = Note(lines=lines, worst=mark.worst if mark else None)
    return found


NO_NOTES: Mapping[str, Note] = {}
