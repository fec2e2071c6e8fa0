"""Workflows as plain data, with sane defaults, for the tests of the analysis."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tuvl.analysis.graph import RouteGraph, route_graph
from tuvl.analysis.nodes import NodeFacts, NodeProblem
from tuvl.analysis.steps import WorkflowView


@dataclass
class Nodes:
    declared: Mapping[str, NodeFacts] = field(default_factory=dict)
    problems: tuple[NodeProblem, ...] = ()


@dataclass
class Found:
    data: Any
    type: str = ""


@dataclass
class Project:
    """The project around a workflow, as the analysis asks for it."""

    nodes: Nodes = field(default_factory=Nodes)
    config: Mapping[str, Any] = field(default_factory=dict)
    artifacts: Mapping[str, Found] = field(default_factory=dict)
    workflows: Mapping[str, Found] = field(default_factory=dict)
    data_models: Mapping[str, Found] = field(default_factory=dict)
    presets: Mapping[str, Found] = field(default_factory=dict)

    def resolve(self, reference: str, /) -> Found | None:
        return self.artifacts.get(reference)

    def workflow(self, name: str, /) -> Found | None:
        return self.workflows.get(name)

    def data_model(self, name: str, /) -> Found | None:
        return self.data_models.get(name)

    def preset(self, name: str, /) -> Found | None:
        return self.presets.get(name)


def workflow(*steps: dict[str, Any], **spec: Any) -> WorkflowView:
    return WorkflowView({"kind": "Workflow", "metadata": {"name": "w"}, "spec": {**spec, "steps": list(steps)}})


def graph(*steps: dict[str, Any], project: Project | None = None, **spec: Any) -> RouteGraph:
    return route_graph(workflow(*steps, **spec), project or Project())


def node(name: str, *signals: str) -> NodeFacts:
    return NodeFacts(name=name, file="nodes/a.py", line=1, signals=signals or None)


def work(id: str, **routes: str) -> dict[str, Any]:
    """A step that may return `default` and `error`."""
    return {"id": id, "kind": "Functional", "runner": "set", "values": {}, "routes": routes}


def call(id: str, **fields: Any) -> dict[str, Any]:
    return {"id": id, "kind": "APICall", "http": {"url": "https://shop.example/"}, **fields}


def decide(id: str, yes: str, no: str) -> dict[str, Any]:
    condition = {"field": "amount", "operator": "gt", "value": 1}
    return {"id": id, "kind": "Router", "condition": condition, "routes": {"true": yes, "false": no}}


def agent(
    id: str, *tools: str, mode: str = "autonomous", routes: dict[str, str] | None = None, **fields: Any
) -> dict[str, Any]:
    block = {"tools": [{"ref": tool} for tool in tools], **fields}
    return {"id": id, "kind": "Agent", "mode": mode, "agent": block, "routes": routes or {}}
