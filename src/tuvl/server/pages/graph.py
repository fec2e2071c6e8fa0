"""The picture of a workflow as a run's page shows it: drawn once, with the state of each step marked in it."""

import re
from collections.abc import Mapping

from tuvl.analysis.scope import Waits
from tuvl.analysis.surroundings import Surroundings
from tuvl.dataclass import dataclass
from tuvl.drawing.chart import Chart, chart_of
from tuvl.drawing.figure import figure
from tuvl.drawing.layout import Rect
from tuvl.drawing.sheet import sheet_of
from tuvl.drawing.svg import described
from tuvl.drawing.text import number, xml
from tuvl.server.pages.bounds import Bounds, bounds_of
from tuvl.server.pages.step_table import Places
from tuvl.source.document import Document

_MARGIN = 22.0
_BADGE = 11.0
_CARD = re.compile(r'id="card-(\d+)"')
_CHIP = re.compile(r'(<a class="chip [^"]*") href="#step-(\d+)"')

_NAME = re.compile(r'(<a [^>]*?) aria-label="[^"]*"')

_SIGNS = {
    "running": "M-3 -4.5 5 0 -3 4.5Z",
    "waiting": "M0 -4.6V0L3.4 2.2",
    "done": "M-4.2 0.3 -1.2 3.4 4.4 -3.4",
    "failed": "M-3.4 -3.4 3.4 3.4M3.4 -3.4 -3.4 3.4",
    "aborted": "M-3.2 -3.2H3.2V3.2H-3.2Z",
}
"""The sign of each state, around the middle of its badge; the shapes differ, not the colours alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGraph:
    """A workflow drawn for the page of its runs."""

    svg: str
    places: Places
    """Where its steps are: the box of one has the id `card-<number>`, its row in the table `step-<number>`."""
    bounds: Bounds

    def marked(self, states: Mapping[int, str]) -> str:
        """Return the picture with the state of each step in it."""

        def state(found: re.Match[str]) -> str:
            return f'{found[0]} data-state="{states.get(int(found[1]), "")}"'

        return _STATE.sub(state, self.svg)


_STATE = re.compile(r'data-step="(\d+)"')


def graph_of(document: Document, project: Surroundings, waits: Waits) -> RunGraph:
    """Draw a workflow, whatever state its file is in."""
    sheet = sheet_of(document, project, waits=waits, findings=None)
    chart = chart_of(sheet)
    across, down = chart.layout.width + 2 * _MARGIN, chart.layout.height + 2 * _MARGIN
    drawn = _CARD.sub(r'\g<0> data-step="\1"', "".join(figure(chart, linked=True)))
    # Every box has its row in the table of steps, which says the same in words and which the tab key does reach.
    drawn = _NAME.sub(r"\1", drawn)
    drawn = drawn.replace('<a class="own"', '<a class="own" tabindex="-1"')
    drawn = _CHIP.sub(r'\1 tabindex="-1" href="#step-\2" data-step="\2"', drawn)
    svg = (
        f'<svg class="graph" viewBox="0 0 {number(across)} {number(down)}" width="{number(across)}" '
        f'height="{number(down)}" role="group" aria-label="{xml(described(sheet))}">'
        f'<g transform="translate({number(_MARGIN)} {number(_MARGIN)})">{drawn}{_badges(chart)}</g></svg>'
    )
    return RunGraph(
        svg=svg,
        places=Places(
            numbers=dict(chart.numbers),
            kinds={step: facts.kind for step, facts in sheet.facts.items()},
            bodies={step: facts.runs for step, facts in sheet.facts.items() if facts.kind == "ForEach"},
            aside=frozenset(node.label for node in sheet.picture.nodes if node.off_spine),
        ),
        bounds=bounds_of(document, project),
    )


def _badges(chart: Chart) -> str:
    found = [_badge(card.number, at) for card, at in zip(chart.cards, chart.layout.boxes, strict=True) if card.number]
    return f'<g class="badges" aria-hidden="true">{"".join(found)}</g>'


def _badge(step: int, at: Rect) -> str:
    """The badge of a box at its top right corner; the style sheet shows the sign of the state it is in."""
    signs = "".join(f'<path class="sign {name}" d="{path}"/>' for name, path in _SIGNS.items())
    x, y = number(at.x + at.width - 4), number(at.y + 2)
    return (
        f'<g class="badge" data-step="{step}" transform="translate({x} {y})">'
        f'<circle class="pulse" r="{number(_BADGE)}"/><circle class="disc" r="{number(_BADGE)}"/>{signs}</g>'
    )
