"""A chart written down as SVG elements: boxes, lines and words, each with its full text for who cannot see it cut."""

from collections.abc import Iterator, Sequence
from math import ceil

from tuvl.analysis.signals import FAILURES
from tuvl.check.finding import Severity
from tuvl.drawing import cards as card_parts
from tuvl.drawing.cards import PAD, Card, Chip, Panel
from tuvl.drawing.chart import SIGNAL_ROW, SIGNAL_SIZE, STUB_HEIGHT, STUB_SIZE, Chart, Wire, shown_loop
from tuvl.drawing.layout import Line, Point, Rect
from tuvl.drawing.shapes import class_of, outline
from tuvl.drawing.text import cut, number, width, xml
from tuvl.spec.signals import DEFAULT

_HEAD = 7.0
_SIGNS = {Severity.ERROR: "✕", Severity.WARNING: "!", Severity.NOTE: "i"}


def figure(chart: Chart, *, linked: bool) -> Iterator[str]:
    """Yield the elements, lines first, so that words and boxes lie over them; `linked` ones lead to `#step-<n>`."""
    yield '<g class="wires">'
    for wire, line in zip(chart.wires, chart.layout.lines, strict=True):
        yield _wire(wire, line, chart, linked=linked)
    yield '</g><g class="steps">'
    for card, at in zip(chart.cards, chart.layout.boxes, strict=True):
        yield _card(card, at, linked=linked)
    yield "</g>"


def said(x: float, y: float, words: str, look: str, *, full: str = "") -> str:
    """A text at a place; its full form, if it was cut, is its title."""
    title = f"<title>{xml(full)}</title>" if full and full != words else ""
    return f'<text class="{look}" x="{number(x)}" y="{number(y)}">{title}{xml(words)}</text>'


def way(points: Sequence[Point]) -> str:
    """The path of a line: straight down, and bends in the gaps between rows."""
    (x, y), *rest = points
    found = [f"M{number(x)} {number(y)}"]
    for next_x, next_y in rest:
        if abs(next_x - x) < 0.05:
            found.append(f"V{number(next_y)}")
        else:
            middle = number((y + next_y) / 2)
            found.append(f"C{number(x)} {middle} {number(next_x)} {middle} {number(next_x)} {number(next_y)}")
        x, y = next_x, next_y
    return "".join(found)


def head(x: float, y: float, *, up: bool = False) -> str:
    """The head of an arrow that ends at a place."""
    back = _HEAD if up else -_HEAD
    return f'<path class="head" d="M{number(x)} {number(y)}L{number(x - 4)} {number(y + back)}H{number(x + 4)}Z"/>'


def _wire(wire: Wire, line: Line, chart: Chart, *, linked: bool) -> str:
    looks = ["wire", *(["failing"] if wire.failing else []), *(["back"] if line.back else [])]
    looks += ["fault"] if wire.fault else []
    parts = [f'<g class="{" ".join(looks)}">']
    points = list(line.points)
    if wire.stub and line.label is not None:
        points[-1] = (points[-1][0], line.label.y + line.label.height - STUB_HEIGHT)
        if len(points) > 1 and wire.signals:
            points.insert(-1, (points[-1][0], line.label.y))
    parts.append(f'<path class="line" d="{way(points)}"/>')
    parts.append(head(*points[-1], up=line.back))
    if line.label is not None:
        parts += _signals(wire, line.label)
        parts += _stub(wire, line.label, linked=linked) if wire.stub else ()
    source = chart.cards[wire.source].title
    parts.append(f"<title>{xml(_sentence(source, wire, chart))}</title></g>")
    return "".join(parts)


def _sentence(source: str, wire: Wire, chart: Chart) -> str:
    target = wire.stub_title or (wire.stub if wire.target is None else chart.cards[wire.target].title)
    how = f" on {', '.join(wire.signals)}" if wire.signals else ""
    more = ": the step can return this, and nothing routes it" if wire.fault else ""
    return f"{source} leads to {target}{how}{more}"


def _signals(wire: Wire, at: Rect) -> Iterator[str]:
    shown = wire.shown
    if not shown:
        return
    room = max(width(signal, SIGNAL_SIZE, mono=True) for signal in shown) + 8
    middle = at.x + at.width / 2
    yield (
        f'<rect class="veil" x="{number(middle - room / 2)}" y="{number(at.y)}" width="{number(room)}" '
        f'height="{number(SIGNAL_ROW * len(shown) + 4)}" rx="4"/>'
    )
    for index, (signal, full) in enumerate(zip(shown, wire.signals, strict=False)):
        look = "signal reserved" if full in FAILURES else "signal plain" if full == DEFAULT else "signal"
        yield said(middle, at.y + SIGNAL_ROW * (index + 1) - 2, signal, look, full=full)


def _stub(wire: Wire, at: Rect, *, linked: bool) -> Iterator[str]:
    room = width(wire.stub_text, STUB_SIZE, mono=True) + 18
    middle, top = at.x + at.width / 2, at.y + at.height - STUB_HEIGHT
    box = (
        f'<rect x="{number(middle - room / 2)}" y="{number(top)}" width="{number(room)}" '
        f'height="{number(STUB_HEIGHT)}" rx="{number(STUB_HEIGHT / 2)}"/>'
    )
    words = said(middle, top + 15, wire.stub_text, "stub-text", full=wire.stub_title)
    inside = f'<g class="stub {wire.stub}">{box}{words}</g>'
    if wire.jump:
        name = f"{wire.stub_title}, further away in the picture"
        yield _anchor(inside, wire.jump if linked else 0, name, reached=False)
    else:
        yield inside


def _anchor(inside: str, step: int, name: str, *, look: str = "own", reached: bool = True) -> str:
    """A link to the details of a step, or a plain group when there are none; not `reached` by the tab key, perhaps."""
    title = f"<title>{xml(name)}</title>"
    if not step:
        return f'<g class="{look}">{inside}{title}</g>'
    aside = "" if reached else ' tabindex="-1"'
    return f'<a class="{look}" href="#step-{step}"{aside} aria-label="{xml(name)}">{inside}{title}</a>'


def _card(card: Card, at: Rect, *, linked: bool) -> str:
    if not card.number:
        return f'<g class="card k-start">{_start(card, at, linked=linked)}</g>'
    name = ", ".join(
        (card.title, card.kind, *(tag.text for tag in card.tags), *([card.mark.text] if card.mark else []))
    )
    look = f"card {class_of(card.kind)}{' aside' if card.aside else ''}"
    parts = [f'<g class="{look}" id="card-{card.number}">']
    inside = "".join((outline(card.kind, at), *_words(card, at), *_mark(card, at)))
    parts.append(_anchor(inside, card.number if linked else 0, name))
    parts += [_loop(card, at)] if card.loop else []
    parts += _panels(card, at, linked=linked)
    return "".join(parts) + "</g>"


def _start(card: Card, at: Rect, *, linked: bool) -> str:
    if not card.panels:
        middle = at.x + at.width / 2
        shape = outline("Response", at)
        return shape + said(middle, at.y + 20, card.title, "start-text")
    return "".join((outline("Agent", at), *_words(card, at), *_panels(card, at, linked=linked)))


def _words(card: Card, at: Rect) -> Iterator[str]:
    x, y = at.x + PAD, at.y + (9 if card.kind == "ForEach" else 6)
    if card.kind:
        y += card_parts.KIND_ROW
        yield said(x, y - 3, card.shown_kind, "kind", full=card.kind)
    y += card_parts.TITLE_ROW
    yield said(x, y - 5, card.shown_title, "title", full=card.title)
    for row in card.tag_rows:
        left = x
        for tag in row:
            yield _tag(left, y + 2, tag.width, tag.look, tag.text)
            left += tag.width + 6
        y += card_parts.TAG_ROW
    for line, full in zip(card.shown_lines, card.lines, strict=True):
        y += card_parts.LINE_ROW
        yield said(x, y - 3, line, "fact", full=full)


def _tag(x: float, y: float, room: float, look: str, words: str) -> str:
    height = card_parts.TAG_HEIGHT
    return (
        f'<g class="tag {look}"><rect x="{number(x)}" y="{number(y)}" width="{number(room)}" '
        f'height="{number(height)}" rx="{number(height / 2)}"/>{said(x + room / 2, y + 12.5, words, "tag-text")}</g>'
    )


def _mark(card: Card, at: Rect) -> Iterator[str]:
    if card.mark is None:
        return
    count = len(card.mark.findings)
    words = f"{_SIGNS[card.mark.worst]} {count if count < 100 else '99+'}"
    lines = [f"{each.severity.value} {each.code}: {each.message}" for each in card.mark.findings[:8]]
    lines += [f"and {count - 8} more"] if count > 8 else []
    room = width(words, card_parts.TAG_SIZE) + 12
    x, y = at.x + at.width - room - 14, at.y + 9
    yield f'<g class="mark {card.mark.worst.value}">'
    yield f"<title>{xml(card.mark.text)}&#10;{'&#10;'.join(map(xml, lines))}</title>"
    yield f'<rect x="{number(x)}" y="{number(y)}" width="{number(room)}" height="17" rx="4"/>'
    yield said(x + room / 2, y + 12.5, words, "mark-text") + "</g>"


def _loop(card: Card, at: Rect) -> str:
    right, top, bottom = at.x + at.width, at.y + at.height * 0.3, at.y + at.height * 0.7
    path = (
        f"M{number(right)} {number(top)}C{number(right + 26)} {number(top)} {number(right + 26)} {number(bottom)} "
        f"{number(right + 6)} {number(bottom)}"
    )
    tip = f"M{number(right)} {number(bottom)}L{number(right + 7)} {number(bottom - 4)}V{number(bottom + 4)}Z"
    words = said(right + 26, (top + bottom) / 2 + 4, shown_loop(card.loop), "signal at-start", full=card.loop)
    return f'<g class="wire back"><path class="line" d="{path}"/><path class="head" d="{tip}"/>{words}</g>'


def _panels(card: Card, at: Rect, *, linked: bool) -> Iterator[str]:
    bottom = at.y + at.height - 6
    for panel in reversed(card.panels):
        bottom -= panel.height + 4
        yield _panel(panel, Rect(x=at.x + PAD, y=bottom, width=at.width - 2 * PAD, height=panel.height), linked=linked)
        bottom -= 2


def _panel(panel: Panel, at: Rect, *, linked: bool) -> str:
    gap = card_parts.CHIP_GAP
    parts = [
        f'<g class="panel"><rect x="{number(at.x)}" y="{number(at.y)}" width="{number(at.width)}" '
        f'height="{number(at.height)}" rx="6"/>',
        said(at.x + gap + 2, at.y + 13, panel.title, "panel-title"),
    ]
    room = (at.width - gap) / panel.columns - gap
    rows = ceil(len(panel.chips) / panel.columns)
    for index, chip in enumerate(panel.chips):
        column, row = divmod(index, rows)
        x = at.x + gap + column * (room + gap)
        y = at.y + card_parts.PANEL_TITLE + gap + row * (card_parts.CHIP_ROW + gap) - 2
        parts.append(_chip(chip, Rect(x=x, y=y, width=room, height=card_parts.CHIP_ROW), linked=linked))
    return "".join(parts) + "</g>"


def _chip(chip: Chip, at: Rect, *, linked: bool) -> str:
    look = f"chip {class_of(chip.kind)}{' missing' if chip.missing else ''}{' risky' if chip.risky else ''}"
    room = at.width - 20 - (18 if chip.worst else 0)
    title = cut(chip.title, card_parts.CHIP_TITLE_SIZE, room, mono=True)
    note = cut(chip.note, card_parts.CHIP_NOTE_SIZE, at.width - 20)
    parts = [
        f'<rect class="box" x="{number(at.x)}" y="{number(at.y)}" width="{number(at.width)}" '
        f'height="{number(at.height)}" rx="5"/>',
        said(at.x + 10, at.y + 16, title, "chip-title", full=chip.title),
        said(at.x + 10, at.y + 29.5, note, "chip-note", full=chip.note),
    ]
    if chip.worst is not None:
        x = at.x + at.width - 22
        sign = said(x + 8, at.y + 16, _SIGNS[chip.worst], "mark-text")
        parts.append(
            f'<g class="mark {chip.worst.value}"><rect x="{number(x)}" y="{number(at.y + 4)}" width="16" '
            f'height="16" rx="4"/>{sign}</g>'
        )
    return _anchor("".join(parts), (chip.target or 0) if linked else 0, f"{chip.title}, {chip.note}", look=look)
