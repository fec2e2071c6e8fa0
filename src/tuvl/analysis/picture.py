"""A workflow as nodes and arrows, whatever state it is in: what `tuvl graph` draws. Pure and deterministic."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tuvl.analysis.graph import RouteGraph, route_graph
from tuvl.analysis.steps import END, StepView, WorkflowView
from tuvl.analysis.surroundings import ALONE, Surroundings
from tuvl.spec.signals import DEFAULT

Shape = Literal["start", "end", "step", "missing"]
ArrowStyle = Literal["route", "reference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One box; `key` is unique in the picture, `kind` the step kind (with the mode of an agent)."""

    key: str
    shape: Shape
    label: str
    kind: str = ""
    off_spine: bool = False
    """A step that others only refer to, such as an agent's tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """One arrow between the keys of two nodes; the signals of one step that lead to one target share it.

    Without labels it is the way on when a step says nothing else. A `reference` names its role: `tool`, say.
    """

    source: str
    target: str
    style: ArrowStyle = "route"
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What there is to draw, in the order of the file."""

    title: str
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]


def picture_of(workflow: WorkflowView, project: Surroundings = ALONE) -> Picture:
    """Draw a workflow. A target that is not there becomes a `missing` node, so that a broken file shows where."""
    graph = route_graph(workflow, project)
    steps = tuple(workflow.by_id.values())
    keys = {step.id: f"s{number}" for number, step in enumerate(steps, 1)}
    arrows = tuple(_arrows(graph, steps, keys))
    nodes = [Node(key="start", shape="start", label="start")]
    nodes += [
        Node(key=keys[step.id], shape="step", label=step.id, kind=_kind(step), off_spine=step.id in graph.off_spine)
        for step in steps
    ]
    absent = {name: key for name, key in keys.items() if name not in workflow.by_id and name != END}
    nodes += [Node(key=key, shape="missing", label=name) for name, key in absent.items()]
    if END in keys:
        nodes.append(Node(key=keys[END], shape="end", label="end"))
    return Picture(title=workflow.name, nodes=tuple(nodes), arrows=arrows)


def _kind(step: StepView) -> str:
    if step.kind == "Agent" and step.mode:
        return f"Agent, {step.mode}"
    return step.kind or "no kind"


def _arrows(graph: RouteGraph, steps: tuple[StepView, ...], keys: dict[str, str]) -> Iterator[Arrow]:
    """Yield the arrows; targets that have no key yet get one in `keys`."""
    if graph.entry is not None:
        yield Arrow(source="start", target=keys[graph.entry])
    for step in steps:
        if step.id in graph.edges:
            yield from _routes(graph, step, keys)
        for target, role in dict.fromkeys(
            (each.target, each.role) for each in graph.references if each.owner == step.id
        ):
            yield Arrow(source=keys[step.id], target=_key(target, keys), style="reference", labels=(role,))


def _routes(graph: RouteGraph, step: StepView, keys: dict[str, str]) -> Iterator[Arrow]:
    by_target: dict[str, list[str]] = {}
    for signal, target in step.routes.items():
        by_target.setdefault(target, []).append(signal)
    for target, signals in by_target.items():
        yield Arrow(source=keys[step.id], target=_key(target, keys), labels=tuple(signals))
    if graph.falls_through(step.id):
        yield Arrow(source=keys[step.id], target=_key(graph.edges[step.id][DEFAULT], keys))


def _key(target: str, keys: dict[str, str]) -> str:
    # Not `end`: that word closes a block in Mermaid.
    return keys.setdefault(target, "finish" if target == END else f"m{len(keys) + 1}")
