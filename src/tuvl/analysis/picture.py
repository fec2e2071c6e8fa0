"""A workflow as nodes and arrows, whatever state it is in: what `tuvl graph` draws. Pure and deterministic."""

from collections.abc import Iterator
from typing import Literal

from tuvl.analysis.graph import RouteGraph, route_graph
from tuvl.analysis.references import StepReference
from tuvl.analysis.signals import FAILURES
from tuvl.analysis.step_facts import kind_of, only_fails, ways_of
from tuvl.analysis.steps import END, StepView, WorkflowView
from tuvl.analysis.surroundings import ALONE, Surroundings
from tuvl.dataclass import dataclass

Shape = Literal["start", "end", "step", "missing"]
ArrowStyle = Literal["route", "reference", "fault"]

START = "start"
COMPLETED = "finish"
"""Key of the end that routes to `END` lead to. Not `end`: that word closes a block in Mermaid."""
FAILED = "failed"
"""Key of the end of steps that only fail, and of signals without a route."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One box; `key` is unique in the picture, `kind` the step kind (with the mode of an agent)."""

    key: str
    shape: Shape
    label: str
    kind: str = ""
    off_spine: bool = False
    """A step that others only refer to, such as an agent's tool."""
    group: str = ""
    """Key of the first node that refers to it, if it is off the spine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """One arrow between the keys of two nodes; the signals of one step that lead to one target share it.

    Without labels it is the way on when a step says nothing else. A `reference` names its role: `tool`, say. A `fault`
    holds signals that the step can return and nothing routes: the run fails there.
    """

    source: str
    target: str
    style: ArrowStyle = "route"
    labels: tuple[str, ...] = ()

    @property
    def failing(self) -> bool:
        """Whether only failures take it."""
        return bool(self.labels) and FAILURES.issuperset(self.labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What there is to draw, in the order of the file."""

    title: str
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]


def picture_of(workflow: WorkflowView, project: Surroundings = ALONE, *, graph: RouteGraph | None = None) -> Picture:
    """Draw a workflow. A target that is not there becomes a `missing` node, so that a broken file shows where."""
    graph = graph or route_graph(workflow, project)
    steps = tuple(workflow.by_id.values())
    keys = {step.id: f"s{number}" for number, step in enumerate(steps, 1)}
    arrows = tuple(_arrows(graph, steps, keys))
    groups: dict[str, str] = {}
    for arrow in arrows:
        if arrow.style == "reference" and arrow.source != arrow.target:
            groups.setdefault(arrow.target, arrow.source)
    nodes = [Node(key=START, shape="start", label="start")]
    for step in steps:
        key, aside = keys[step.id], step.id in graph.off_spine
        group = groups.get(key, "") if aside else ""
        nodes.append(Node(key=key, shape="step", label=step.id, kind=kind_of(step), off_spine=aside, group=group))
    nodes += [
        Node(key=key, shape="missing", label=name)
        for name, key in keys.items()
        if name not in workflow.by_id and name != END
    ]
    met = {arrow.target for arrow in arrows}
    for key, label in ((COMPLETED, "completed"), (FAILED, "failed")):
        if key in met:
            nodes.append(Node(key=key, shape="end", label=label))
    return Picture(title=workflow.name, nodes=tuple(nodes), arrows=arrows)


def _arrows(graph: RouteGraph, steps: tuple[StepView, ...], keys: dict[str, str]) -> Iterator[Arrow]:
    """Yield the arrows; targets that have no key yet get one in `keys`."""
    if graph.entry is not None:
        yield Arrow(source=START, target=keys[graph.entry])
    of_steps: dict[str, list[StepReference]] = {}
    for each in graph.references:
        if each.path[:2] == ("spec", "hooks"):
            yield Arrow(source=START, target=_key(each.target, keys), style="reference", labels=(each.role,))
        else:
            of_steps.setdefault(each.owner, []).append(each)
    for step in steps:
        if step.id in graph.edges:
            yield from _routes(graph, step, keys)
        for target, role in dict.fromkeys((each.target, each.role) for each in of_steps.get(step.id, ())):
            yield Arrow(source=keys[step.id], target=_key(target, keys), style="reference", labels=(role,))


def _routes(graph: RouteGraph, step: StepView, keys: dict[str, str]) -> Iterator[Arrow]:
    source = keys[step.id]
    for way in ways_of(step, graph):
        match way.kind:
            case "route":
                yield Arrow(source=source, target=_key(way.target, keys), labels=way.signals)
            case "next":
                yield Arrow(source=source, target=_key(way.target, keys))
            case "no route":
                yield Arrow(source=source, target=FAILED, style="fault", labels=way.signals)
            case "ends as failed" if only_fails(step.id, graph):
                yield Arrow(source=source, target=FAILED, labels=way.signals)


def _key(target: str, keys: dict[str, str]) -> str:
    return keys.setdefault(target, COMPLETED if target == END else f"m{len(keys) + 1}")
