"""A workflow as one HTML page: the figure, and in words all that it shows. Nothing is fetched, and no text is code."""

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from tuvl.drawing.chart import chart_of
from tuvl.drawing.details import Details
from tuvl.drawing.figure import figure
from tuvl.drawing.legend import legend
from tuvl.drawing.sheet import Sheet, counted
from tuvl.drawing.svg import described, style
from tuvl.drawing.text import number, xml

_MARGIN = 20.0
_LEGEND_ROOM = 900.0


def page(sheet: Sheet) -> str:
    """Write it."""
    chart = chart_of(sheet)
    details = Details(sheet, dict(chart.numbers))
    across, down = chart.layout.width + 2 * _MARGIN, chart.layout.height + 2 * _MARGIN
    size = f'viewBox="0 0 {number(across)} {number(down)}" width="{number(across)}" height="{number(down)}"'
    drawn = "".join(figure(chart, linked=True))
    below, below_height = legend(chart, room=_LEGEND_ROOM)
    look, script = style() + _read("page.css"), _read("page.js")
    articles = "\n".join(map(details.article, sheet.facts.values()))
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(look, script)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{xml(sheet.title)}</title><style>{look}</style></head><body>",
        f"<header><h1><code>{xml(sheet.title)}</code></h1><p>{xml(sheet.description)}</p>{_strip(sheet)}</header>",
        '<main><section class="pane" aria-label="The picture"><div class="bar-of-tools" hidden>',
        '<button type="button" data-do="out" aria-label="Smaller">−</button>',
        '<button type="button" data-do="in" aria-label="Larger">+</button>',
        '<button type="button" data-do="fit">Fit</button><button type="button" data-do="full">100 %</button>',
        '<span class="help">drag to move, Ctrl and wheel to zoom, click a step</span></div>',
        '<div class="view" tabindex="0" role="region" aria-label="Route graph, can be scrolled">',
        f'<svg id="graph" {size} role="group" aria-label="{xml(described(sheet))}">',
        f'<g transform="translate({number(_MARGIN)} {number(_MARGIN)})">{drawn}</g></svg>',
        "</div></section>",
        '<aside aria-label="Details of a step"><p class="hint-line">Choose a step in the picture or in the table.</p>',
        f"{articles}</aside></main>",
        f'<section class="wide"><h2>What it means</h2><svg viewBox="0 0 {number(_LEGEND_ROOM + 40)} '
        f'{number(below_height)}" width="{number(_LEGEND_ROOM + 40)}" height="{number(below_height)}" role="img" '
        f'aria-label="Legend">{below}</svg>{_notes()}</section>',
        f'<section class="wide"><h2 id="worst">Worst case of one run</h2>{details.worst()}</section>',
        f'<section class="wide"><h2 id="findings">Findings</h2>{details.findings()}</section>',
        f'<section class="wide"><h2 id="steps">Steps</h2>{details.steps_table()}</section>',
        f"<footer>{xml(sheet.file)}</footer><script>{script}</script></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _read(name: str) -> str:
    text = files("tuvl.drawing").joinpath(name).read_text(encoding="utf-8")
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _policy(look: str, script: str) -> str:
    """Nothing may be fetched, and only our own rules and our own script count."""
    return (
        f"default-src 'none'; style-src {_digest(look)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _strip(sheet: Sheet) -> str:
    """The figures a reviewer looks for first."""
    items = []
    if sheet.worst:
        calls, tools, tokens, usd, seconds = sheet.worst[-1].proved
        figures = (
            ("model calls", calls), ("tool calls", tools), ("tokens", tokens), ("US dollars", usd), ("seconds", seconds)
        )  # fmt: skip
        items += [f"<div><dt>{name}</dt><dd>{xml(value)}</dd></div>" for name, value in figures]
    if sheet.checked:
        said = counted(sheet.findings) or "none"
        items.append(f'<div><dt>findings</dt><dd><a href="#findings">{said}</a></dd></div>')
    return (
        f'<dl class="strip" aria-label="Proved worst case of one run">{"".join(items)}</dl>'
        '<p class="small">At most, in one run, by its <a href="#worst">proved worst case</a>. '
        'The picture as text: <a href="#steps">table of steps</a>.</p>'
    )


def _notes() -> str:
    return (
        '<p class="small">An exit without a name leads on to the next step. Names in italics are exits of the engine. '
        "An <code>error</code> or <code>aborted</code> that no route names ends the run as failed or aborted; the "
        "picture shows these ends only for steps that do nothing else, the details show all. A line that would go far "
        "ends in the name of the step it leads to (↪).</p>"
    )
