"""Mermaid pictures of the workflows that changed: steps and arrows that came, went, or mean something else now."""

from collections.abc import Iterator
from typing import Literal

from tuvl.analysis.graph import RouteGraph, route_graph
from tuvl.analysis.steps import END, StepView, WorkflowView
from tuvl.changes.change import ChangeClass
from tuvl.changes.compare import Comparison
from tuvl.changes.pairs import DocPair
from tuvl.changes.renames import pair_steps
from tuvl.dataclass import dataclass

MOST_STEPS = 80
"""Steps past which a picture would not be drawn by the sites that show it."""

Mark = Literal["added", "removed", "changed", ""]
_SIGNS: dict[Mark, str] = {"added": "+ ", "removed": "− ", "changed": "~ ", "": ""}
_STYLES = (
    "classDef added stroke:#1a7f37,stroke-width:2px",
    "classDef removed stroke:#cf222e,stroke-dasharray: 4 3",
    "classDef changed stroke:#9a6700,stroke-width:2px",
)
_LINKS: dict[Mark, str] = {"added": "stroke:#1a7f37", "removed": "stroke:#cf222e"}

_Arrow = tuple[str, str, str, bool]
"""Source, target, label, and whether it is a reference rather than a route."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One picture."""

    workflow: str
    mermaid: str


def pictures(found: Comparison) -> list[Drawn]:
    """Draw each workflow that more than its looks changed of, gravest first."""
    marked: dict[str, set[str]] = {}
    for change in found.changes:
        if change.workflow is not None and change.cls is not ChangeClass.COSMETIC:
            marked.setdefault(change.workflow, set()).add(change.step or "")
    pairs = {pair.name: pair for pair in found.workflows}
    return [
        Drawn(name, drawn)
        for name, steps in marked.items()
        if name in pairs and (drawn := _draw(pairs[name], steps)) is not None
    ]


def _draw(pair: DocPair, changed: set[str]) -> str | None:
    if pair.old is None or pair.new is None:
        return None
    pairs = pair_steps(WorkflowView(pair.old.document.data), WorkflowView(pair.new.document.data))  # type: ignore[arg-type]
    graphs = (route_graph(pairs.old, pair.old.side.index), route_graph(pairs.new, pair.new.side.index))
    steps = {**pairs.old.by_id, **pairs.new.by_id}
    if len(steps) > MOST_STEPS:
        return None
    marks = {name: _mark(name, pairs.old, pairs.new, changed) for name in steps}
    keys = {name: f"s{number}" for number, name in enumerate(steps, 1)} | {END: "finish"}
    before, after = (dict.fromkeys(_arrows(graph)) for graph in graphs)
    lines = ["flowchart TD"]
    lines += [f"  {_box(keys[name], step, marks[name])}" for name, step in steps.items()]
    arrows = [arrow for arrow in dict.fromkeys((*after, *before)) if arrow[0] in keys]
    targets = {arrow[1] for arrow in arrows}
    if END in targets:
        lines.append('  finish(("end"))')
    arrows = [arrow for arrow in arrows if arrow[1] in keys]
    styles = []
    for number, arrow in enumerate(arrows):
        mark: Mark = "added" if arrow not in before else "removed" if arrow not in after else ""
        lines.append(f"  {keys[arrow[0]]} {_line(arrow)} {keys[arrow[1]]}")
        if mark:
            styles.append(
                f"  linkStyle {number} {_LINKS[mark]}" + (",stroke-dasharray:4 3" if mark == "removed" else "")
            )
    lines += [f"  {style}" for style in _STYLES]
    for mark in ("added", "removed", "changed"):
        named = [keys[name] for name, each in marks.items() if each == mark]
        if named:
            lines.append(f"  class {','.join(named)} {mark}")
    return "\n".join((*lines, *styles)) + "\n"


def _mark(name: str, old: WorkflowView, new: WorkflowView, changed: set[str]) -> Mark:
    if name not in old.by_id:
        return "added"
    if name not in new.by_id:
        return "removed"
    return "changed" if name in changed else ""


def _arrows(graph: RouteGraph) -> Iterator[_Arrow]:
    for name, edges in graph.edges.items():
        by_target: dict[str, list[str]] = {}
        for signal, target in edges.items():
            by_target.setdefault(target, []).append(signal)
        for target, signals in by_target.items():
            yield name, target, ", ".join(signals), False
    for reference in graph.references:
        yield reference.owner, reference.target, reference.role, True


def _box(key: str, step: StepView, mark: Mark) -> str:
    opening, closing = ("([", "])") if step.kind == "Agent" else ("{", "}") if step.kind == "Router" else ("[", "]")
    return f'{key}{opening}"{_escaped(_SIGNS[mark] + step.id)}<br/>{_escaped(step.kind or "no kind")}"{closing}'


def _line(arrow: _Arrow) -> str:
    label = f'|"{_escaped(arrow[2])}"|' if arrow[2] and arrow[2] != "default" else ""
    return f"{'-.->' if arrow[3] else '-->'}{label}"


def _escaped(text: str) -> str:
    """Write every character that Mermaid or HTML may read as something else as an entity."""
    return "".join(each if each.isalnum() or each in " _.,-−+~" else f"#{ord(each)};" for each in text)
