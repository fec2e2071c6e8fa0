"""A workflow as one SVG file: readable by itself, in light and in dark, with nothing that it has to fetch."""

from importlib.resources import files

from tuvl.drawing.chart import chart_of
from tuvl.drawing.figure import figure, said
from tuvl.drawing.legend import legend
from tuvl.drawing.sheet import Sheet, counted
from tuvl.drawing.text import cut, number, xml

_MARGIN = 28.0
_LEAST_WIDTH = 760.0
_TITLE_SIZE, _TEXT_SIZE = 20.0, 12.0


def svg(sheet: Sheet) -> str:
    """Draw it."""
    chart = chart_of(sheet)
    room = max(_LEAST_WIDTH, chart.layout.width)
    lines = summary(sheet)
    top = _MARGIN + 26 + 18 * len(lines) + 18
    below, below_height = legend(chart, room=room)
    bottom = top + chart.layout.height + 34
    across, down = room + 2 * _MARGIN, bottom + below_height + _MARGIN
    left = _MARGIN + (room - chart.layout.width) / 2
    title = cut(sheet.title, _TITLE_SIZE, room)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(across)} {number(down)}" '
        f'width="{number(across)}" height="{number(down)}" role="img" aria-labelledby="t d">',
        f'<title id="t">{xml(sheet.title)}</title><desc id="d">{xml(described(sheet))}</desc>',
        f"<style>{style()}</style>",
        f'<rect class="canvas" width="{number(across)}" height="{number(down)}"/>',
        said(_MARGIN, _MARGIN + 16, title, "head-title", full=sheet.title),
    ]
    for index, line in enumerate(lines):
        parts.append(said(_MARGIN, _MARGIN + 40 + 18 * index, cut(line, _TEXT_SIZE, room), "head-text", full=line))
    parts.append(f'<g transform="translate({number(left)} {number(top)})">{"".join(figure(chart, linked=False))}</g>')
    parts.append(f'<g transform="translate({number(_MARGIN)} {number(bottom)})">{below}</g></svg>')
    return "\n".join(parts) + "\n"


def style() -> str:
    """The rules of a figure, without what separates them for people."""
    text = files("tuvl.drawing").joinpath("figure.css").read_text(encoding="utf-8")
    return "".join(line.strip() for line in text.splitlines())


def summary(sheet: Sheet) -> tuple[str, ...]:
    """What a workflow is for and what it can use, in a few lines."""
    lines = [sheet.description] if sheet.description else []
    if sheet.worst:
        calls, tools, tokens, usd, seconds = sheet.worst[-1].proved
        lines.append(f"One run, proved worst case: model calls {calls} · tool calls {tools} · tokens {tokens}")
        lines.append(f"US dollars {usd} · seconds {seconds}")
    if sheet.checked:
        lines.append(f"Findings: {counted(sheet.findings) or 'none'}")
    return tuple(lines)


def described(sheet: Sheet) -> str:
    """The picture in one sentence, for who cannot see it."""
    steps = sum(node.shape == "step" for node in sheet.picture.nodes)
    return " ".join((f"Route graph of a workflow with {steps} step{'s' * (steps != 1)}.", *summary(sheet)))
