"""`# tuvl: ignore[CODE] reason`: comments that hide a finding on their line or the next."""

import re
from bisect import bisect_right
from collections.abc import Iterator

from yaml._yaml import CParser
from yaml.error import YAMLError
from yaml.events import ScalarEvent

from tuvl.dataclass import dataclass
from tuvl.source.decode import split_lines
from tuvl.source.nodes import range_of_event
from tuvl.source.place import Position, Range

_COMMENT = re.compile(r"#\s*tuvl:\s*ignore\b[ \t]*(?:\[(?P<codes>[^\]\n]*)\])?(?P<reason>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """One such comment; `codes` is empty when it names none, `reason` when it gives none."""

    line: int
    codes: tuple[str, ...]
    reason: str
    target: int
    """The line it is about beside its own: for a comment that stands alone, the next one that is no comment."""

    def hides(self, code: str, line: int) -> bool:
        """Whether it is about a finding; without a reason it is about none."""
        return line in (self.line, self.target) and bool(self.reason) and code in self.codes


def suppressions(text: str) -> tuple[Suppression, ...]:
    """Collect the suppressions of a text; what stands in quotes or in a block of text is no comment."""
    if "tuvl:" not in text:
        return ()
    found: list[tuple[Position, Suppression]] = []
    lines = split_lines(text)
    following = _following(lines)
    for number, line in enumerate(lines, start=1):
        match = _COMMENT.search(line)
        if match is not None and (match.start() == 0 or line[match.start() - 1] in " \t"):
            codes = tuple(code.strip() for code in (match["codes"] or "").split(",") if code.strip())
            target = number if line[: match.start()].strip() else following[number - 1]
            comment = Suppression(line=number, codes=codes, reason=_reason(match["reason"]), target=target)
            found.append((Position(number, match.start() + 1), comment))
    if not found:
        return ()
    taken = list(_scalars(text))
    starts = [start for start, _ in taken]
    return tuple(comment for place, comment in found if not _inside(place, starts, taken))


def _inside(place: Position, starts: list[Position], taken: list[Range]) -> bool:
    """Whether a place is in one of the scalars, which come in order and apart from each other."""
    before = bisect_right(starts, place)
    return before > 0 and place < taken[before - 1].end


def _following(lines: list[str]) -> list[int]:
    """Number, for each line, the next one that is no comment."""
    found = [len(lines) + 1] * len(lines)
    for index in range(len(lines) - 2, -1, -1):
        found[index] = found[index + 1] if lines[index + 1].lstrip().startswith("#") else index + 2
    return found


def _scalars(text: str) -> Iterator[Range]:
    parser = CParser(text)
    try:
        while (event := parser.get_event()) is not None:
            if type(event) is not ScalarEvent:
                continue
            place = range_of_event(event)
            if event.style in ("|", ">"):
                # The line of the `|` itself may end in a comment.
                place = Range(Position(place.start.line + 1, 1), place.end)
            yield place
    except YAMLError:
        # The problem itself is told elsewhere; comments above it still count.
        return
    finally:
        parser.dispose()


def _reason(text: str) -> str:
    """A reason has words: a dash or a colon says nothing."""
    return text.strip() if any(map(str.isalnum, text)) else ""
