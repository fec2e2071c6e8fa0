"""The boxes of a drawing: what is written in each, line by line, and how large that makes it."""

from collections.abc import Sequence
from math import ceil

from tuvl.check.finding import Severity
from tuvl.dataclass import dataclass
from tuvl.drawing.sheet import Mark
from tuvl.drawing.text import cut, width

PAD = 14.0
KIND_SIZE, TITLE_SIZE, LINE_SIZE, TAG_SIZE = 10.5, 14.0, 11.0, 10.5
CHIP_TITLE_SIZE, CHIP_NOTE_SIZE = 11.5, 9.5
KIND_ROW, TITLE_ROW, LINE_ROW, TAG_ROW, CHIP_ROW = 17.0, 21.0, 15.0, 22.0, 37.0
TAG_HEIGHT = 17.0
CHIP_GAP = 6.0
PANEL_TITLE = 16.0
_WIDEST = 340.0
_NARROWEST = 120.0
_WIDEST_CHIP, _NARROWEST_CHIP = 270.0, 130.0
_MARK_ROOM = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A step inside the box of another: a tool of an agent, the body of a loop. `target` is its number on the page."""

    title: str
    note: str
    kind: str
    target: int | None = None
    worst: Severity | None = None
    risky: bool = False
    missing: bool = False

    @property
    def wanted(self) -> float:
        """The room it would like to have."""
        room = max(width(self.title, CHIP_TITLE_SIZE, mono=True), width(self.note, CHIP_NOTE_SIZE))
        return min(_WIDEST_CHIP, max(_NARROWEST_CHIP, room + 20 + 18 * (self.worst is not None)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Chips of one role, under a heading."""

    title: str
    chips: tuple[Chip, ...]

    @property
    def columns(self) -> int:
        """How many stand side by side."""
        return 1 if len(self.chips) <= 3 else 2 if len(self.chips) <= 12 else 3

    @property
    def chip_width(self) -> float:
        """All are as wide as the widest."""
        return max(chip.wanted for chip in self.chips)

    @property
    def width(self) -> float:
        """With the frame around it."""
        return self.columns * (self.chip_width + CHIP_GAP) + CHIP_GAP

    @property
    def height(self) -> float:
        """With its heading."""
        return PANEL_TITLE + ceil(len(self.chips) / self.columns) * (CHIP_ROW + CHIP_GAP) + CHIP_GAP


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A small word in a frame; `look` is its class."""

    text: str
    look: str

    @property
    def width(self) -> float:
        """With its frame."""
        return width(self.text, TAG_SIZE) + 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One box. `number` counts the steps from 1, and is the anchor of its details; 0 is the start."""

    key: str
    number: int
    title: str
    kind: str = ""
    """The step kind, with the mode of an agent; empty for the start."""
    tags: tuple[Tag, ...] = ()
    lines: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()
    mark: Mark | None = None
    aside: bool = False
    loop: str = ""
    """Signals with which it leads to itself."""

    @property
    def shown_title(self) -> str:
        """The title as far as there is room for it."""
        return cut(self.title, TITLE_SIZE, _WIDEST - 2 * PAD, mono=True)

    @property
    def shown_lines(self) -> tuple[str, ...]:
        """The lines as far as there is room."""
        return tuple(cut(line, LINE_SIZE, _WIDEST - 2 * PAD) for line in self.lines)

    @property
    def shown_kind(self) -> str:
        """The kind as far as there is room."""
        return cut(self.kind, KIND_SIZE, _WIDEST - 2 * PAD - _MARK_ROOM)

    @property
    def tag_rows(self) -> tuple[tuple[Tag, ...], ...]:
        """The tags, in as many rows as they take."""
        rows: list[list[Tag]] = []
        left = 0.0
        for tag in self.tags:
            if not rows or left < tag.width:
                rows.append([])
                left = _WIDEST - 2 * PAD
            rows[-1].append(tag)
            left -= tag.width + 6
        return tuple(map(tuple, rows))

    @property
    def width(self) -> float:
        """As wide as the widest of what is in it."""
        if not self.kind and not self.panels:
            return width(self.title, TITLE_SIZE) + 2 * PAD
        marked = width(self.shown_kind, KIND_SIZE) + (_MARK_ROOM if self.mark else 0)
        rooms = [_NARROWEST - 2 * PAD, width(self.shown_title, TITLE_SIZE, mono=True), marked]
        rooms += [width(line, LINE_SIZE) for line in self.shown_lines]
        rooms += [sum(tag.width + 6 for tag in row) - 6 for row in self.tag_rows]
        rooms += [panel.width for panel in self.panels]
        return max(rooms) + 2 * PAD

    @property
    def height(self) -> float:
        """All rows below each other."""
        if not self.kind and not self.panels:
            return 30.0
        rows = [TITLE_ROW + (KIND_ROW if self.kind else 0), LINE_ROW * len(self.lines), TAG_ROW * len(self.tag_rows)]
        rows += [panel.height + 6 for panel in self.panels]
        return sum(rows) + 18


def tags_of(tags: Sequence[str]) -> tuple[Tag, ...]:
    """Tags by what they say."""
    looks = {"read": "calm", "write": "acts", "danger": "risky", "approval": "asks", "never reached": "acts"}
    words = {"read": "reads", "write": "writes", "danger": "⚠ danger", "approval": "asks for approval"}
    return tuple(Tag(text=words.get(tag, tag), look=looks.get(tag, "plain")) for tag in tags)
