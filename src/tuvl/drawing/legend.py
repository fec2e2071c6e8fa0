"""What the shapes, lines and words of a drawing mean; only those kinds of steps that are in it."""

from collections.abc import Iterator

from tuvl.dataclass import dataclass
from tuvl.drawing.chart import Chart
from tuvl.drawing.figure import head, said
from tuvl.drawing.layout import Rect
from tuvl.drawing.shapes import class_of, outline
from tuvl.drawing.text import number, width

_SAMPLE = 34.0
_ROW = 26.0
_SIZE = 12.0
_GAP = 26.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One sample and its meaning."""

    words: str
    look: str
    kind: str = ""
    """A step kind; without one the sample is a line, or a mark."""
    sign: str = ""


def legend(chart: Chart, *, room: float) -> tuple[str, float]:
    """The legend in rows no wider than `room`, and its height; it begins at the origin."""
    parts = ['<g class="legend" aria-hidden="true">']
    x, y = 0.0, 0.0
    for entry in _entries(chart):
        wanted = _SAMPLE + 8 + width(entry.words, _SIZE) + _GAP
        if x and x + wanted > room:
            x, y = 0.0, y + _ROW
        parts += _sample(entry, x, y)
        parts.append(said(x + _SAMPLE + 8, y + 15, entry.words, "legend-text"))
        x += wanted
    return "".join(parts) + "</g>", y + _ROW


def _entries(chart: Chart) -> Iterator[_Entry]:
    kinds = dict.fromkeys(card.kind.partition(",")[0] for card in chart.cards if card.kind)
    inside = (chip.kind.partition(",")[0] for card in chart.cards for panel in card.panels for chip in panel.chips)
    kinds |= dict.fromkeys(kind for kind in inside if kind not in ("missing", "more"))
    for kind in kinds:
        yield _Entry(words=kind[:40], look=class_of(kind), kind=kind)
    yield _Entry(words="exit; without a name: on to the next step", look="wire")
    if any(wire.failing for wire in chart.wires):
        yield _Entry(words="only failures", look="wire failing")
    if any(line.back for line in chart.layout.lines) or any(card.loop for card in chart.cards):
        yield _Entry(words="back to an earlier step", look="wire back")
    if any(wire.fault for wire in chart.wires):
        yield _Entry(words="can be returned, but has no route", look="wire fault")
    marks = {card.mark.worst.value for card in chart.cards if card.mark}
    marks |= {chip.worst.value for card in chart.cards for panel in card.panels for chip in panel.chips if chip.worst}
    for look, sign in (("error", "✕"), ("warning", "!"), ("note", "i")):
        if look in marks:
            yield _Entry(
                words=f"{look}s found here" if look == "error" else f"{look}s at worst", look=f"mark {look}", sign=sign
            )


def _sample(entry: _Entry, x: float, y: float) -> Iterator[str]:
    if entry.kind:
        yield f'<g class="{entry.look}">{outline(entry.kind, Rect(x=x + 1, y=y + 2, width=32, height=18))}</g>'
    elif entry.sign:
        box = f'<rect x="{number(x + 9)}" y="{number(y + 3)}" width="16" height="16" rx="4"/>'
        yield f'<g class="{entry.look}">{box}{said(x + 17, y + 15, entry.sign, "mark-text")}</g>'
    else:
        middle = number(x + 16)
        line = f'<path class="line" d="M{middle} {number(y)}V{number(y + 16)}"/>'
        yield f'<g class="{entry.look}">{line}{head(x + 16, y + 21)}</g>'
